package bus

import (
	"time"

	"github.com/go-json-experiment/json"
)

// An advert is what a worker tells all ingresses, as JSON on its advert
// subject: when it comes, every advertEvery, when it changes, and when it goes.
type advert struct {
	State   workerState `json:"state"`
	Slots   int         `json:"slots"`
	Free    int         `json:"free"`
	TimeMs  int64       `json:"timeMs"`           // the worker's clock, Unix milliseconds
	Version string      `json:"version,omitzero"` // the program's, for operators
	// Catalogue is the same for workers that serve the same.
	Catalogue string `json:"catalogue,omitzero"`
}

// A workerState is part of the wire protocol.
type workerState string

const (
	workerUp       workerState = "up"
	workerDraining workerState = "draining" // takes nothing new
	workerGone     workerState = "gone"     // has answered all it took
)

// advertEvery is how often a worker that nothing happens to sends an advert.
const advertEvery = 250 * time.Millisecond

// Bounds on what an advert says, far beyond all that is real: what is computed from
// it does not overflow.
const (
	maxSlots  = 1 << 30
	maxTimeMs = 1 << 43 // the year 2248
)

func parseAdvertBody(data []byte) (a advert, ok bool) {
	err := json.Unmarshal(data, &a)
	switch a.State {
	case workerUp, workerDraining, workerGone:
		return a, err == nil && a.Slots > 0 && a.Slots <= maxSlots && a.Free >= 0 && a.Free <= a.Slots &&
			a.TimeMs > 0 && a.TimeMs <= maxTimeMs
	}
	return advert{}, false
}
