package monitor

import (
	"context"
	"sync"
	"time"

	"linkledger/projections"
	"linkledger/projections/engine/status"
	"linkledger/projections/engine/verify"
)

// Verification is the last verification of a projection that this process was asked for.
type Verification struct {
	Ended   time.Time // zero: it waits or runs
	Percent int
	Rate    float64 // events per second
	Result  verify.Result
	Problem string // why it has no result
}

// Holds reports whether the tables are as the log says.
func (v Verification) Holds() bool { return v.Problem == "" && v.Result.Different == 0 }

// verifications runs one verification after the other, because each replays the log.
type verifications struct {
	wanted chan string

	mu   sync.Mutex
	last map[string]Verification // by projection
}

func newVerifications() *verifications {
	return &verifications{
		// At most one verification of each projection waits, so there is always room.
		wanted: make(chan string, len(projections.Names())),
		last:   make(map[string]Verification),
	}
}

// Verify asks for a verification of a projection unless one waits or runs. Run runs it.
func (m *Monitor) Verify(name string) {
	v := m.verifications
	v.mu.Lock()
	defer v.mu.Unlock()
	if last, ok := v.last[name]; ok && last.Ended.IsZero() {
		return
	}
	v.last[name] = Verification{}
	v.wanted <- name
}

// Verification returns the last verification of a projection, or nil.
func (m *Monitor) Verification(name string) *Verification {
	v := m.verifications
	v.mu.Lock()
	defer v.mu.Unlock()
	if last, ok := v.last[name]; ok {
		return &last
	}
	return nil
}

func (v *verifications) update(name string, change func(*Verification)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	last := v.last[name]
	change(&last)
	v.last[name] = last
}

// runVerifications runs the verifications that operators ask for, until ctx ends.
func (m *Monitor) runVerifications(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case name := <-m.verifications.wanted:
			m.runVerification(ctx, name)
		}
	}
}

func (m *Monitor) runVerification(ctx context.Context, name string) {
	show := func(all []status.Progress) {
		for _, p := range all {
			m.verifications.update(name, func(v *Verification) {
				v.Percent, v.Rate = percent(p.Position, p.Head), p.Rate
			})
		}
	}
	result, err := projections.Verify(ctx, m.cfg.DB, m.cfg.Store, name, show)
	m.verifications.update(name, func(v *Verification) {
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
