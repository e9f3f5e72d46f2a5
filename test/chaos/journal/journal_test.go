package journal_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mcpyard/mcpyard/test/chaos/journal"
)

// Each incarnation of a worker opens the journal anew.
func TestJournal(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	events, err := journal.Read(name)
	require.NoError(t, err)
	assert.Empty(t, events)

	begin := time.Now().Add(-time.Nanosecond)
	for _, kind := range []journal.Kind{journal.Started, journal.Ended} {
		w, err := journal.Open(name)
		require.NoError(t, err)
		require.NoError(t, w.Write(kind, "call-1"))
		require.NoError(t, w.Close())
	}
	events, err = journal.Read(name)
	require.NoError(t, err)
	require.Len(t, events, 2)
	for i, kind := range []journal.Kind{journal.Started, journal.Ended} {
		assert.Equal(t, kind, events[i].Kind)
		assert.Equal(t, "call-1", events[i].ID)
		assert.WithinRange(t, events[i].At, begin, time.Now())
	}
}

func TestAJournalThatIsNone(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	for _, text := range []string{"started call-1\n", "started call-1 soon\n", "started\n"} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		_, err := journal.Read(name)
		assert.ErrorContains(t, err, name, text)
	}
}
