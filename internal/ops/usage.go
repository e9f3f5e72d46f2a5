package ops

import "runtime/metrics"

// A usage is what this process takes of its machine.
type usage struct {
	Goroutines    uint64 `json:"goroutines"`
	LiveHeapBytes uint64 `json:"liveHeapBytes"` // what was in use at the last garbage collection
	MemoryBytes   uint64 `json:"memoryBytes"`   // what the Go runtime has from the operating system
}

func readUsage() usage {
	samples := []metrics.Sample{
		{Name: "/sched/goroutines:goroutines"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	value := func(i int) uint64 { return samples[i].Value.Uint64() }
	return usage{Goroutines: value(0), LiveHeapBytes: value(1), MemoryBytes: value(2) - value(3)}
}
