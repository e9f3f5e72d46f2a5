package dispatch_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/mcpyard/mcpyard/internal/mcp"
	"github.com/mcpyard/mcpyard/test/wire"
)

var update = flag.Bool("update", false, "rewrite the responses in testdata")

// TestConversations plays testdata/*.txtar against the fixture. A file holds
// pairs of a request, named "PROFILE: what it shows", and its response, byte for
// byte. $META and $ELICIT stand for the _meta of a client without capabilities,
// and of one that can show forms.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { play(t, file) })
	}
}

func play(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err)
	require.Zero(t, len(archive.Files)%2, "requests and responses come in pairs")
	d := newDispatcher(t, fixture())
	for i := 0; i < len(archive.Files); i += 2 {
		request, response := archive.Files[i], &archive.Files[i+1]
		require.Equal(t, "response", response.Name)
		profile, title, ok := strings.Cut(request.Name, ": ")
		require.True(t, ok, request.Name)
		t.Run(request.Name, func(t *testing.T) {
			require.Contains(t, []string{"strict", "contract"}, profile, title)
			got := answer(t, d, profile, string(request.Data))
			if *update {
				response.Data = []byte(got + "\n")
			}
			assert.Equal(t, strings.TrimSpace(string(response.Data)), got)
		})
	}
	if *update {
		require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
	}
}

// answer does what a transport does, for what is no request as well.
func answer(t *testing.T, h mcp.Handler, profile, request string) string {
	request = strings.NewReplacer("$META", strictMeta, "$ELICIT", elicitMeta).Replace(request)
	req, refusal := mcp.ParseRequest([]byte(request))
	if refusal != nil {
		return string(mcp.ErrorResponse(req.ID, refusal).Body)
	}
	if profile == "contract" {
		req.Profile = mcp.Contract
		return string(h.Handle(t.Context(), req, func([]byte) {}).Body)
	}
	res := h.Handle(t.Context(), req, func(notification []byte) { wire.Check(t, req.Method, notification) })
	if req.Method != mcp.MethodListen || res.Code != 0 { // else it is for the ingress, which answers the client
		wire.Check(t, req.Method, res.Body)
	}
	return string(res.Body)
}
