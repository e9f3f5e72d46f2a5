package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
)

// A logger passes on the server's warnings and errors.
type logger struct {
	log *slog.Logger

	mu    sync.Mutex // guards fault
	fault error
}

var _ server.Logger = (*logger)(nil)

// Noticef, Debugf and Tracef drop what the server tells of its daily life.
func (l *logger) Noticef(string, ...any) {}
func (l *logger) Debugf(string, ...any)  {}
func (l *logger) Tracef(string, ...any)  {}

func (l *logger) Warnf(format string, v ...any)  { l.log.Warn(fmt.Sprintf(format, v...)) }
func (l *logger) Errorf(format string, v ...any) { l.fail(fmt.Sprintf(format, v...)) }
func (l *logger) Fatalf(format string, v ...any) { l.fail(fmt.Sprintf(format, v...)) }

func (l *logger) fail(message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = errors.New(message)
	l.log.Error(message)
}

// last is the last error that the server has logged.
func (l *logger) last() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}
