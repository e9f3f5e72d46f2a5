package bus

import "github.com/go-json-experiment/json"

// An advert is what a worker tells all ingresses, as JSON on its advert
// subject: when it comes, as often as its tempo says, when it changes, and when it
// goes.
type advert struct {
	State   workerState `json:"state"`
	Slots   int         `json:"slots"`
	Free    int         `json:"free"`
	TimeMs  int64       `json:"timeMs"`           // the worker's clock, Unix milliseconds
	TempoMs tempo       `json:"tempoMs,omitzero"` // how often it sends adverts; 0: it cannot be told
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
			a.TimeMs > 0 && a.TimeMs <= maxTimeMs && a.TempoMs >= 0
	}
	return advert{}, false
}

// tempo is the worker's tempo.
func (a advert) tempo() tempo { return a.TempoMs.within() }
