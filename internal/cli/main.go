package cli

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Main runs a command as this process, and ends it with 1 and one line on
// standard error after a failure.
func Main(name string, run func() error) {
	reserved := reserveHeap(os.Getenv)
	err := run()
	runtime.KeepAlive(reserved)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(1)
	}
}

// headroom is how much garbage a command holds, at least, before it is collected.
const headroom = 64 << 20 // bytes

// reserveHeap makes the garbage collector run less often. Between two requests
// these programs need a few megabytes only, which the collector would take as the
// measure of when to start next: hundreds of times a second under load. It
// counts the memory that is returned here, although nothing is ever written
// there and so no machine has to have it. With GOGC or GOMEMLIMIT somebody has
// decided otherwise.
func reserveHeap(getenv func(string) string) []byte {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, headroom)
}
