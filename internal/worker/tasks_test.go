package worker

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTaskFlags(t *testing.T) {
	for flags, want := range map[string]int{"": 48, "-task-slots=64": 64, "-slots=1": 1, "-slots=5": 3} {
		args := []string{"-realm", "r"}
		if flags != "" {
			args = append(args, flags)
		}
		cfg, err := parseConfig(args, io.Discard)
		require.NoError(t, err)
		assert.Equal(t, want, cfg.tasks.slots(cfg.slots), flags)
	}
	for _, wrong := range []string{
		"-task-slots=65", "-task-slots=-1", "-max-tasks=0", "-max-tasks-per-principal=-1", "-task-ttl=1s", "-task-retention=0s", "-replicas=0", "-replicas=6",
	} {
		_, err := parseConfig([]string{wrong}, io.Discard)
		assert.ErrorContains(t, err, wrong[:5], wrong)
	}
}
