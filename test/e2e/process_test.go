package e2e

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/test/process"
)

// startNATS starts a nats-server as a process and returns its URL.
func startNATS(t testing.TB) string {
	t.Helper()
	p := asProcess(t, "nats-server", "-js", "-sd", t.TempDir(), "-a", "127.0.0.1", "-p", "-1")
	return "nats://" + p.says(t, process.SaysServer)
}

// Messages that NATS does not take go up and down, and leave nothing behind.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	url := startNATS(t)
	f := &fleet{workers: []*program{asProcess(t, "worker", "-nats", url)}}
	f.ingress = asProcess(t, "ingress", "-nats", url, "-http", "127.0.0.1:0", "-ops", "127.0.0.1:0", "-max-body", "8MiB")
	f.caller = newCaller(t, f.ingress.says(t, process.SaysClients))
	f.awaitWorkers(t, 1)
	large := strings.Repeat("large ", 4<<20/6+1)
	text, err := f.ask(t, tool("echo", fmt.Sprintf(`{"text":%q}`, large))).text()
	require.NoError(t, err)
	require.Equal(t, sha256.Sum256([]byte(large)), sha256.Sum256([]byte(text)), "%d bytes came back", len(text))

	conn, err := nats.Connect(url)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), "OBJ_mcpyard-large-main")
	require.NoError(t, err)
	eventually(t, func() bool {
		info, err := stream.Info(t.Context())
		return err == nil && info.State.Msgs == 0
	})
}

// Four processes, as the README starts them.
func TestFourProcesses(t *testing.T) {
	t.Parallel()
	f := startFleet(t, asProcess, startNATS(t), 2)
	a := f.ask(t, strict("server/discover", "", ""))
	assert.Contains(t, a.response(), `"supportedVersions":["2026-07-28"]`)
	a = f.ask(t, strict("tools/list", "", ""))
	assert.Contains(t, a.response(), `"name":"notes_create"`)
	text, err := f.ask(t, tool("calculate_sum", `{"a":0.1,"b":0.2}`)).text()
	require.NoError(t, err)
	assert.Equal(t, "0.3", text)

	progress := f.ask(t, tool("slow", `{"seconds":0.2}`))
	assert.Equal(t, "text/event-stream", progress.header.Get("Content-Type"))
	assert.Contains(t, string(progress.messages[0]), `"method":"notifications/progress"`)
	assert.Contains(t, progress.response(), `Waited for 0.2 seconds.`)

	var created note
	f.ask(t, createNote("Groceries")).structured(t, &created)
	remove := tool("notes_delete", fmt.Sprintf(`{"id":%q}`, created.ID))
	r, err := f.ask(t, remove).decode()
	require.NoError(t, err)
	require.Equal(t, "input_required", r.Result.ResultType)
	remove = strict("tools/call", "notes_delete", fmt.Sprintf(`"name":"notes_delete","arguments":{"id":%q},`+
		`"inputResponses":{"confirm":{"action":"accept","content":{"confirm":true}}}`, created.ID))
	_, err = f.ask(t, remove).text()
	require.NoError(t, err)
	assert.Empty(t, titles(t, f.ask(t, listNotes())))

	for _, p := range append(f.workers, f.ingress) {
		p.Terminate()
		assert.Zero(t, p.exitCode(t))
	}
}

func TestIngressFinishesWhatIsInFlight(t *testing.T) {
	t.Parallel()
	f := startFleet(t, asProcess, startNATS(t), 1)
	s, err := f.open(t.Context(), tool("slow", `{"seconds":1}`))
	require.NoError(t, err)
	_, ok := s.next()
	require.True(t, ok, "progress, so it runs")
	f.ingress.Terminate()
	a, err := s.rest()
	require.NoError(t, err)
	text, err := a.text()
	require.NoError(t, err)
	assert.Equal(t, "Waited for 1 seconds.", text)
	assert.Zero(t, f.ingress.exitCode(t))
}

// The grace period bounds how long a stop takes, whatever is in flight.
func TestGraceEnds(t *testing.T) {
	t.Parallel()
	for name, stopped := range map[string]func(*fleet) *program{
		"worker":  func(f *fleet) *program { return f.workers[0] },
		"ingress": func(f *fleet) *program { return f.ingress },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFleet(t, asProcess, startNATS(t), 1, "-grace", "200ms")
			s, err := f.open(t.Context(), endless())
			require.NoError(t, err)
			_, ok := s.next()
			require.True(t, ok, "progress, so it runs")
			stopped(f).Terminate()
			assert.Zero(t, stopped(f).exitCode(t))
			a, err := s.rest()
			if err == nil {
				_, err = a.text()
			}
			assert.Error(t, err, "an answer that is no success")
			f.workers[0].says(t, saysSlowEnded) // the tool's context has ended, for lack of a client too
		})
	}
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	f := startFleet(t, asProcess, startNATS(t), 1)
	s, err := f.open(t.Context(), endless())
	require.NoError(t, err)
	defer s.Body.Close()

	f.workers[0].Terminate()
	f.workers[0].says(t, saysDraining)
	f.workers[0].Terminate()
	assert.Equal(t, -1, f.workers[0].exitCode(t))

	f.ingress.Terminate()
	eventually(t, func() bool { return !f.listens() })
	f.ingress.Terminate()
	assert.Equal(t, -1, f.ingress.exitCode(t))
}

// Operators can watch a process stop: it answers them to the end.
func TestReadinessWhileStopping(t *testing.T) {
	t.Parallel()
	f := startFleet(t, inProcess, startNATS(t), 1)
	s, err := f.open(t.Context(), tool("slow", `{"seconds":2}`))
	require.NoError(t, err)
	_, ok := s.next()
	require.True(t, ok, "progress, so it runs")
	for p, reason := range map[*program]string{f.workers[0]: "starting or draining", f.ingress: "stopping"} {
		p.Terminate()
		eventually(t, func() bool {
			status, r := f.readiness(t, p)
			return status == http.StatusServiceUnavailable && r.Reason == reason
		})
	}
	a, err := s.rest()
	require.NoError(t, err)
	_, err = a.text()
	require.NoError(t, err)
	for _, p := range append(f.workers, f.ingress) {
		require.NoError(t, p.wait(t))
	}
}

// listens tells whether the ingress takes connections.
func (c *caller) listens() bool {
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err == nil {
		conn.Close()
	}
	return err == nil
}

func TestStartupErrors(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { taken.Close() })
	address := taken.Addr().String()
	const nobody = "nats://127.0.0.1:1"
	tests := []struct {
		name, command, flags string
		want                 string // in the line
	}{
		{"no NATS", "ingress", "-http 127.0.0.1:0 -connect-wait 100ms -nats " + nobody, "NATS at nats://127.0.0.1:1 does not answer within 100ms"},
		{"no NATS", "worker", "-connect-wait 100ms -nats " + nobody, "NATS at nats://127.0.0.1:1 does not answer within 100ms"},
		{"taken port", "ingress", "-local -http " + address, "listen for clients: listen tcp " + address},
		{"taken port for operators", "ingress", "-local -http 127.0.0.1:0 -ops " + address, "listen for operators: listen tcp " + address},
		{"unknown toolset", "ingress", "-local -toolsets basics,burn", `unknown toolset "burn"; there are notes, basics`},
		{"unknown toolset", "worker", "-toolsets burn", `unknown toolset "burn"; there are notes, basics`},
		{"unknown flag", "ingress", "-burn", "flag provided but not defined: -burn (see -help)"},
		{"unknown flag", "worker", "-burn", "flag provided but not defined: -burn (see -help)"},
		{"flag of -local without it", "ingress", "-slots 3", "-slots, which may come from MCPYARD_SLOTS or -config too, needs -local"},
		{"argument that is no flag", "worker", "burn", `unexpected argument "burn"`},
		{"realm that is no name", "worker", "-realm a.b", `realm "a.b"`},
		{"all that is wrong", "worker", "-slots 0 -grace 0s -log-format xml", "-slots 0: want at least 1"},
		{"file that is not there", "worker", "-config /nowhere/mcpyard.conf", "/nowhere/mcpyard.conf"},
	}
	for _, tt := range tests {
		t.Run(tt.command+" "+tt.name, func(t *testing.T) {
			p := asProcess(t, tt.command, strings.Fields(tt.flags)...)
			assert.Equal(t, 1, p.exitCode(t))
			line, isLine := strings.CutSuffix(p.Stderr.String(), "\n")
			assert.True(t, isLine)
			assert.NotContains(t, line, "\n")
			assert.True(t, strings.HasPrefix(line, tt.command+": "), line)
			assert.Contains(t, line, tt.want)
		})
	}
}

// Flags win over the environment, which wins over the file.
func TestWhereFlagsComeFrom(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mcpyard.conf")
	require.NoError(t, os.WriteFile(file, []byte("# a comment\nlocal true\nhttp 192.0.2.1:1\npool from-file\nrealm from-file\n"), 0o600))
	cmd := binary(t, "ingress", "-config", file, "-realm", "from-flag")
	cmd.Env = append(cmd.Env, "MCPYARD_HTTP=127.0.0.1:0", "MCPYARD_NATS_LISTEN=127.0.0.1:0", "MCPYARD_REALM=from-env")
	p := launch(t, cmd)
	c := newCaller(t, p.says(t, process.SaysClients))
	a := c.ask(t, tool("echo", `{"text":"x"}`).in("from-file"))
	assert.Equal(t, http.StatusOK, a.status)

	// A worker of the realm that only the flag names joins the same pool.
	w := asProcess(t, "worker", "-nats", p.says(t, saysLocalNATS), "-realm", "from-flag", "-pool", "beside")
	w.says(t, process.SaysWorker)
	text, err := c.ask(t, tool("echo", `{"text":"x"}`).in("beside")).text()
	require.NoError(t, err)
	assert.Equal(t, "x", text)
}

func TestDemo(t *testing.T) {
	t.Parallel()
	p := asProcess(t, "ingress", "-local", "-demo")
	assert.Zero(t, p.exitCode(t))
	assert.Contains(t, p.Stdout.String(), "That was all.")
	store := saysStore.FindStringSubmatch(p.Stdout.String())
	require.NotNil(t, store)
	assert.NoDirExists(t, store[1])
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"ingress", "worker"} {
		help := asProcess(t, command, "-help")
		assert.Zero(t, help.exitCode(t))
		assert.Contains(t, help.Stdout.String(), "-connect-wait")
		assert.Empty(t, help.Stderr.String())
		version := asProcess(t, command, "-version")
		assert.Zero(t, version.exitCode(t))
		assert.Contains(t, version.Stdout.String(), "MCP 2026-07-28")
	}
}

// With -local one signal ends all parts in order: the client is answered, then
// the worker drains, then NATS goes.
func TestLocalFinishesWhatIsInFlight(t *testing.T) {
	t.Parallel()
	p := asProcess(t, "ingress", "-local", "-http", "127.0.0.1:0")
	c := newCaller(t, p.says(t, process.SaysClients))
	s, err := c.open(t.Context(), tool("slow", `{"seconds":1}`))
	require.NoError(t, err)
	_, ok := s.next()
	require.True(t, ok, "progress, so it runs")
	p.Terminate()
	a, err := s.rest()
	require.NoError(t, err)
	_, err = a.text()
	require.NoError(t, err)
	assert.Zero(t, p.exitCode(t))
	assert.NotContains(t, p.Stderr.String(), "level=WARN")
	assert.NotContains(t, p.Stderr.String(), "level=ERROR")
}

// An interrupt from the keyboard is a signal like the other.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	cmd := binary(t, "ingress", "-local", "-http", "127.0.0.1:0")
	p := launch(t, cmd)
	c := newCaller(t, p.says(t, process.SaysClients))
	_, err := c.ask(t, tool("echo", `{"text":"x"}`)).text() // from now on it handles signals too
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	assert.Zero(t, p.exitCode(t))
}
