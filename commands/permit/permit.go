// Package permit checks, while a call runs, that its caller may still make it. The context of the
// call carries the check, and every append of a command makes the check. So a long command stops
// once its caller has lost the right.
package permit

import (
	"context"
	"sync"
	"time"
)

const (
	// Fresh is how long a check of a caller counts. A caller that loses its rights begins no
	// further append after this time.
	Fresh = 50 * time.Millisecond
	// EndsWithin is how long the answer to a call that ends rights MUST wait after the end has
	// taken effect. The second Fresh is time for the appends that have begun.
	EndsWithin = 2 * Fresh
)

// Permit says whether a caller may go on with a call. It is safe for concurrent use.
type Permit struct {
	check func(context.Context) (final bool, err error)

	mu      sync.Mutex
	checked time.Time // start of the last check that permitted the call
	refused error     // the final refusal; nil: none
}

// New returns a permit of a caller that has been checked just now. check checks the caller again.
// It returns an error if the caller may not go on, or if it could not find out. final is true if
// the caller may not go on.
func New(check func(context.Context) (final bool, err error)) *Permit {
	return &Permit{check: check, checked: time.Now()}
}

type key struct{}

// With returns a context whose appends need the permit.
func With(ctx context.Context, p *Permit) context.Context {
	return context.WithValue(ctx, key{}, p)
}

// Without returns a context whose appends need no permit: they complete a permitted change.
func Without(ctx context.Context) context.Context { return With(ctx, nil) }

// Check returns nil if the caller may go on. An earlier check counts for the time Fresh. After a
// final refusal, Check always returns the same error. If the context has no permit, Check returns
// nil.
func Check(ctx context.Context) error {
	return of(ctx).ask(ctx, Fresh)
}

// CheckNow is Check, but an earlier check counts only if it was a final refusal. It is for the
// beginning of a longer part of a call.
func CheckNow(ctx context.Context) error {
	return of(ctx).ask(ctx, 0)
}

// of returns the permit of a context, or nil.
func of(ctx context.Context) *Permit {
	p, _ := ctx.Value(key{}).(*Permit)
	return p
}

// ask checks the caller unless a check within the last while counts.
func (p *Permit) ask(ctx context.Context, while time.Duration) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	began := time.Now()
	if p.refused != nil || began.Sub(p.checked) < while {
		return p.refused
	}
	final, err := p.check(ctx)
	switch {
	case err == nil:
		p.checked = began
	case final:
		p.refused = err
	}
	return err
}

// Refused returns the refusal of an earlier Check, or nil.
func Refused(ctx context.Context) error {
	p := of(ctx)
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// AwaitEnd waits until callers whose rights have ended make no more appends. Before the call, the
// end MUST have taken effect for the checks of all nodes.
func AwaitEnd(ctx context.Context) error {
	timer := time.NewTimer(EndsWithin)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
