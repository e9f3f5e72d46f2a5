package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	for _, variable := range os.Environ() { // they would be flags of all that runs
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "MCPYARD_") {
			os.Unsetenv(name)
		}
	}
	dir, err := os.MkdirTemp("", "mcpyard-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built = sync.OnceValues(func() (string, error) { return dir, build(dir) })
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

// build builds the commands, and the version of nats-server that go.mod names.
func build(dir string) error {
	const module = "github.com/mcpyard/mcpyard/cmd/"
	cmd := exec.Command("go", "build", "-o", dir+string(filepath.Separator),
		module+"ingress", module+"worker", "github.com/nats-io/nats-server/v2")
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("build the commands: %w", err), errors.New(string(out)))
	}
	return nil
}
