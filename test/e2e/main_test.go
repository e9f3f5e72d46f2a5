package e2e

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpyard/mcpyard/test/process"
)

func TestMain(m *testing.M) {
	process.ClearFlags()
	dir, err := os.MkdirTemp("", "mcpyard-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built = sync.OnceValues(func() (string, error) {
		return dir, process.Build(context.Background(), dir, "github.com/mcpyard/mcpyard/cmd/...", process.NATSServer)
	})
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}))
}

// built returns the folder of the commands, which the first call builds: tests
// that run everything in this process do not have to wait for it. It is set
// before any test starts.
var built func() (dir string, err error)
