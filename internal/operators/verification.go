package operators

import (
	"context"
	"sync"
	"time"

	"linkledger/projections"
	"linkledger/projections/engine/status"
	"linkledger/projections/engine/verify"
)

// verification is the last verification of a projection that this process was asked for.
type verification struct {
	Ended   time.Time // zero: it waits or runs
	Percent int
	Rate    float64 // events per second
	Result  verify.Result
	Problem string // why it has no result
}

// Holds reports whether the tables are as the log says.
func (v verification) Holds() bool { return v.Problem == "" && v.Result.Different == 0 }

// verifications runs one verification after the other, because each replays the log.
type verifications struct {
	wanted chan string

	mu   sync.Mutex
	last map[string]verification // by projection
}

func newVerifications() *verifications {
	return &verifications{
		// One of each projection waits at most, so there is always a place.
		wanted: make(chan string, len(projections.Names())),
		last:   make(map[string]verification),
	}
}

// ask asks for a verification unless one waits or runs.
func (v *verifications) ask(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if last, ok := v.last[name]; ok && last.Ended.IsZero() {
		return
	}
	v.last[name] = verification{}
	v.wanted <- name
}

// of returns the last verification of a projection, or nil.
func (v *verifications) of(name string) *verification {
	v.mu.Lock()
	defer v.mu.Unlock()
	if last, ok := v.last[name]; ok {
		return &last
	}
	return nil
}

func (v *verifications) update(name string, change func(*verification)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	last := v.last[name]
	change(&last)
	v.last[name] = last
}

// runVerifications runs the verifications that operators ask for, until ctx ends.
func (h *Handler) runVerifications(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case name := <-h.verifications.wanted:
			h.runVerification(ctx, name)
		}
	}
}

func (h *Handler) runVerification(ctx context.Context, name string) {
	result, err := projections.Verify(ctx, h.DB, h.Store, name, func(all []status.Progress) {
		for _, p := range all {
			h.verifications.update(name, func(v *verification) {
				v.Percent, v.Rate = percent(p.Position, p.Head), p.Rate
			})
		}
	})
	h.verifications.update(name, func(v *verification) {
		v.Ended, v.Result = time.Now(), result
		if err != nil {
			v.Problem = err.Error()
		}
	})
}

// percent returns how much of the log is applied.
func percent(position, head uint64) int {
	if head == 0 {
		return 100
	}
	return int(min(100, 100*position/head))
}
