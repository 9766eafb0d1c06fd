package signedin_test

import (
	"bytes"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"linkledger/projections/keystore/keystoretest"
)

// TestAnswers checks that one of many requests for a name makes its answer and the others get it, that a claim ends, and
// that what nothing was done for can be tried again.
func TestAnswers(t *testing.T) {
	t.Parallel()
	ctx, keys := keystoretest.Context(t), keystoretest.Create(t)
	now := time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	claim := func(name string, at time.Time) ([]byte, bool) {
		t.Helper()
		answer, claimed, err := keys.ClaimAnswer(ctx, name, "acme", at, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return answer, claimed
	}
	store := func(name, answer string, open bool) {
		t.Helper()
		if err := keys.StoreAnswer(ctx, name, "acme", []byte(answer), open, now, now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(name, want string, at time.Time) {
		t.Helper()
		if answer, err := keys.Answer(ctx, name, at); err != nil || string(answer) != want {
			t.Errorf("the answer of %s is %q, %v; want %q", name, answer, err, want)
		}
	}
	var claims atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if answer, claimed, err := keys.ClaimAnswer(ctx, "one", "acme", now, time.Minute); err != nil || answer != nil {
				t.Errorf("claimed %q, %v", answer, err)
			} else if claimed {
				claims.Add(1)
			}
		})
	}
	if all.Wait(); claims.Load() != 1 {
		t.Errorf("%d of 8 at once made the answer", claims.Load())
	}
	wants("one", "", now)
	if _, again := claim("one", now.Add(time.Minute)); !again {
		t.Error("a claim never ends")
	}
	store("one", "done", false)
	if answer, claimed := claim("one", now.Add(time.Second)); claimed || string(answer) != "done" {
		t.Errorf("after the answer: %q, claimed %t", answer, claimed)
	}
	wants("one", "", now.Add(time.Hour))
	store("two", "refused", true)
	wants("two", "refused", now)
	if _, claimed := claim("two", now); !claimed {
		t.Error("what was refused cannot be tried again")
	}
	wants("two", "", now)
	stored := keystoretest.Scan[[]byte](t, keys, "SELECT sealed FROM linkledger_durable.answers WHERE sealed IS NOT NULL")
	if bytes.Contains(stored, []byte("done")) {
		t.Error("the database can read an answer")
	}
	for i := range 120 {
		claim(strconv.Itoa(i), now.Add(time.Second))
	}
	if n := keystoretest.Scan[int](t, keys, "SELECT count(*) FROM linkledger_durable.answers"); n != 100 {
		t.Errorf("%d answers of one owner are kept", n)
	}
	claim("last", now.Add(2*time.Hour))
	if n := keystoretest.Scan[int](t, keys, "SELECT count(*) FROM linkledger_durable.answers"); n != 1 {
		t.Errorf("%d answers are kept after all have expired", n)
	}
}
