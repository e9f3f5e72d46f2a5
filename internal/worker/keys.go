package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/mcpyard/mcpyard/internal/bus"
	"github.com/mcpyard/mcpyard/internal/seal"
)

const (
	// stateTTL is how long a client may take to answer an input request.
	stateTTL = 15 * time.Minute
	// keysKey is where the realm's keys are in their bucket.
	keysKey = "request-state"
)

// openKeys returns the keys that seal request state: those of the file, or, if
// there is none, one that all workers of the realm share through NATS and the
// first of them makes. Without JetStream there is none, and no request state.
func openKeys(ctx context.Context, conn *bus.Conn, cfg Config, log *slog.Logger) (*seal.Keyring, error) {
	var keys []byte
	var err error
	if cfg.StateKeys != "" {
		keys, err = os.ReadFile(cfg.StateKeys)
	} else {
		keys, err = sharedKeys(ctx, conn, cfg)
	}
	if errors.Is(err, bus.ErrNoJetStream) {
		log.Warn("no request state: there is no JetStream to share keys through, and no -state-keys")
		return nil, nil //nolint:nilnil // none is what there is
	}
	if err != nil {
		return nil, fmt.Errorf("keys for request state: %w", err)
	}
	ring, err := seal.ParseKeyring(bytes.NewReader(keys), stateTTL, time.Now)
	if err != nil {
		return nil, fmt.Errorf("keys for request state: %w", err)
	}
	return ring, nil
}

func sharedKeys(ctx context.Context, conn *bus.Conn, cfg Config) ([]byte, error) {
	bucket, err := bus.OpenBucket(ctx, conn.Conn, "mcpyard-keys-"+cfg.Realm, cfg.replicas())
	if err != nil {
		return nil, err
	}
	keys, _, err := bucket.Get(ctx, keysKey)
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	if err := bucket.Create(ctx, keysKey, []byte(seal.NewKey())); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	keys, _, err = bucket.Get(ctx, keysKey) // mine, or that of a worker that was quicker
	return keys, err
}
