package cli_test

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/internal/cli"
)

func parse(t *testing.T, args ...string) (cli.Common, error) {
	t.Helper()
	var c cli.Common
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	c.Register(fs)
	if err := cli.Parse(fs, args, io.Discard); err != nil {
		return c, err
	}
	return c, c.Validate()
}

func TestFlagsWinOverEnvironmentOverFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mcpyard.conf")
	require.NoError(t, os.WriteFile(file, []byte("realm file\npool file\ngrace 3s\n"), 0o600))
	t.Setenv("MCPYARD_REALM", "environment")
	t.Setenv("MCPYARD_POOL", "environment")
	c, err := parse(t, "-config", file, "-realm", "flag")
	require.NoError(t, err)
	assert.Equal(t, []string{"flag", "environment", "3s"}, []string{c.Realm, c.Pool, c.Grace.String()})
}

func TestMistakesAreNamed(t *testing.T) {
	for want, args := range map[string][]string{
		"-bogus":                      {"-bogus"},
		`unexpected argument "x"`:     {"x"},
		"log-level":                   {"-log-level", "loud"},
		`-log-format "xml"`:           {"-log-format", "xml"},
		`realm "a b"`:                 {"-realm", "a b"},
		`pool ""`:                     {"-pool", ""},
		"-grace 0s: want more than 0": {"-grace", "0s"},
		"-connect-wait -1s":           {"-connect-wait", "-1s"},
		"no such file":                {"-config", "/nonexistent"},
	} {
		_, err := parse(t, args...)
		require.ErrorContains(t, err, want)
	}
}

func TestHelp(t *testing.T) {
	var c cli.Common
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	c.Register(fs)
	var out strings.Builder
	require.ErrorIs(t, cli.Parse(fs, []string{"-help"}, &out), flag.ErrHelp)
	assert.Contains(t, out.String(), "-connect-wait")
}

func TestValues(t *testing.T) {
	var list cli.List
	require.NoError(t, list.Set(" a, b ,,"))
	assert.Equal(t, cli.List{"a", "b"}, list)
	assert.Equal(t, "a,b", list.String())

	var size cli.Bytes
	require.NoError(t, size.Set("4MiB"))
	assert.Equal(t, cli.Bytes(4<<20), size)
	assert.Equal(t, "4MiB", size.String())
	require.Error(t, size.Set("four"))
}
