package arch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/mcpyard/mcpyard/"

// mayImport has, for every package, the packages of this module that it may
// import. A new package gets a line here, and so a moment of thought.
var mayImport = map[string]string{
	"internal/strictjson":       "",
	"internal/jsonrpc":          "internal/strictjson",
	"internal/mcp":              "internal/jsonrpc internal/strictjson",
	"internal/dispatch":         "internal/mcp internal/jsonrpc internal/seal internal/strictjson",
	"internal/task":             "internal/mcp internal/jsonrpc",
	"internal/tools":            "internal/mcp internal/jsonrpc",
	"internal/tools/basics":     "internal/mcp internal/jsonrpc internal/tools",
	"internal/tools/notes":      "internal/mcp internal/jsonrpc internal/tools",
	"internal/tools/everything": "internal/mcp internal/jsonrpc internal/tools",
	"internal/bus":              "internal/mcp internal/jsonrpc",
	"internal/bus/embedded":     "",
	"internal/bus/bustest":      "internal/bus internal/bus/embedded",
	"internal/mcphttp":          "internal/mcp internal/jsonrpc",
	"internal/mcpstdio":         "internal/mcp internal/jsonrpc",
	"internal/subscription":     "internal/mcp internal/jsonrpc",
	"internal/worker":           "internal/actor internal/bus internal/cli internal/dispatch internal/mcp internal/ops internal/tools/basics internal/tools/everything internal/tools/notes internal/seal internal/task",
	"internal/ingress":          "internal/actor internal/bus internal/bus/embedded internal/cli internal/mcp internal/mcphttp internal/mcpstdio internal/ops internal/subscription internal/worker",
	"internal/seal":             "",
	"internal/actor":            "",
	"internal/ops":              "",
	"internal/cli":              "internal/bus internal/mcp",
	"cmd/worker":                "internal/cli internal/worker",
	"cmd/ingress":               "internal/cli internal/ingress",
	"test/load/mixed":           "internal/actor internal/bus internal/bus/embedded internal/mcp",
	"test/load/rig":             "internal/bus internal/bus/embedded internal/mcp",
	"test/load/growth":          "internal/bus internal/dispatch internal/mcp internal/tools test/load/rig",
	"test/load/listen":          "internal/cli internal/ingress",
	"test/load/scale":           "internal/bus internal/mcp test/load/rig",
	"test/load/tasks":           "internal/actor internal/bus internal/bus/embedded internal/mcp internal/worker",
	"test/conformance":          "",
	"test/examples":             "internal/dispatch internal/jsonrpc internal/mcp",
	"test/clients":              "",
	"test/wire":                 "",
	"test/arch":                 "",
	"test/e2e":                  "",
	"test/process":              "",
	"test/chaos":                "internal/mcp internal/seal test/chaos/journal test/chaos/proxy test/process",
	"test/chaos/journal":        "",
	"test/chaos/proxy":          "",
	"test/chaos/worker":         "internal/cli internal/mcp internal/tools internal/worker test/chaos/journal",
	"test/chaos/trusting":       "internal/actor internal/bus internal/cli internal/mcp internal/mcphttp internal/ops",
}

// only has, for packages of others, the packages of this module that may import
// them in code that is not a test; nobody else may.
var only = map[string]string{
	"github.com/nats-io/nats.go":               "internal/bus",
	"github.com/nats-io/nats-server/v2":        "internal/bus/embedded",
	"github.com/modelcontextprotocol/go-sdk":   "",
	"github.com/santhosh-tekuri/jsonschema/v6": "internal/dispatch",
	"net/http":                    "internal/mcphttp internal/actor internal/ops internal/ingress",
	"testing":                     "internal/bus/bustest",
	"github.com/stretchr/testify": "internal/bus/bustest",
}

type listed struct {
	ImportPath string
	Dir        string
	Doc        string
	Imports    []string
	GoFiles    []string
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, known := mayImport[name]
		require.Truef(t, known, "package %s is not in the table", name)
		for _, i := range p.Imports {
			if own, ok := strings.CutPrefix(i, module); ok {
				require.Containsf(t, strings.Fields(allowed), own, "%s imports %s", name, own)
			}
			for foreign, by := range only {
				if (i == foreign || strings.HasPrefix(i, foreign+"/")) && !inTest(name) {
					require.Containsf(t, strings.Fields(by), name, "%s imports %s", name, i)
				}
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	for _, p := range packages(t) {
		require.NotEmptyf(t, p.Doc, "package %s has no package comment", p.ImportPath)
	}
}

// The codes that JSON-RPC leaves to servers are those that MCP defines, each
// named in one place, and none that it has withdrawn or not given out.
//
// Spec: MCP 2026-07-28, Base Protocol, Error Codes.
func TestErrorCodes(t *testing.T) {
	var found []string
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, file := range p.GoFiles {
			if !inTest(name) {
				found = append(found, codesIn(t, name, filepath.Join(p.Dir, file))...)
			}
		}
	}
	require.Equal(t, []string{"internal/mcp -32020", "internal/mcp -32021", "internal/mcp -32022"}, found)
}

// codesIn returns the numbers from -32099 to -32000 that the code in a file has,
// each behind the name of its package.
func codesIn(t *testing.T, name, file string) (codes []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	ast.Inspect(parsed, func(n ast.Node) bool {
		minus, _ := n.(*ast.UnaryExpr)
		if minus == nil || minus.Op != token.SUB {
			return true
		}
		if number, ok := minus.X.(*ast.BasicLit); ok && len(number.Value) == 5 && strings.HasPrefix(number.Value, "320") {
			codes = append(codes, name+" -"+number.Value)
		}
		return true
	})
	return codes
}

// inTest tells whether a package only exists for tests, where helpers may
// import what tests may.
func inTest(name string) bool { return strings.HasPrefix(name, "test/") }

// packages lists this module's packages that have code outside of tests.
func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,Doc,Imports,GoFiles", module+"...").Output()
	require.NoError(t, err)
	var all []listed
	for d := json.NewDecoder(bufio.NewReader(bytes.NewReader(out))); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if len(p.GoFiles) > 0 {
			all = append(all, p)
		}
	}
	require.True(t, slices.ContainsFunc(all, func(p listed) bool { return p.ImportPath == module+"internal/mcp" }))
	return all
}
