package commands

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/accounts"
	"linkledger/commands/audit"
	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/linkwrite"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/soak"
)

func TestMain(m *testing.M) {
	soak.Checks(25, 200)
	eventstoretest.Main(m)
}

// stack is the write side and its reader, on a private event store.
type stack struct {
	*Handler
	*accounts.Accounts
	*audit.Reader

	store   *eventstore.Store
	streams *streams.Streams
	clock   time.Time
}

func newStack(t testing.TB) *stack {
	t.Helper()
	s := &stack{store: eventstoretest.New(t), clock: commandstest.At}
	return s.build(Config{}, nil)
}

// again returns another process on the same event store.
func (s *stack) again(keys streams.SealingKeys) *stack {
	return (&stack{store: s.store, clock: s.clock}).build(Config{}, keys)
}

// build creates the parts again with empty caches. If keys is not nil, it seals notes.
func (s *stack) build(cfg Config, keys streams.SealingKeys) *stack {
	s.streams = streams.New(streams.Config{
		Store: s.store, Now: func() time.Time { return s.clock }, Keys: keys, Seal: keys != nil,
	})
	cfg.Streams = s.streams
	s.Handler, s.Accounts = NewHandler(cfg), accounts.New(s.streams, keys)
	s.Reader = audit.New(s.streams, s.store, slog.New(slog.DiscardHandler))
	return s
}

func request(account string) domain.Request {
	return domain.Request{
		Account: account, ID: "request", Batch: "batch", Key: "key", Address: "address", Command: uuid.New(),
	}
}

func (s *stack) create(t *testing.T, r domain.Request, item CreateURL) domain.Link {
	t.Helper()
	outcome := s.CreateURLs(t.Context(), r, []CreateURL{item}).Items[0]
	if outcome.Err != nil {
		t.Fatal(outcome.Err)
	}
	return outcome.URL
}

func (s *stack) edit(t *testing.T, r domain.Request, hash string, edit EditURL) (domain.Link, error) {
	t.Helper()
	edit.Hash = hash
	outcome := s.EditURLs(t.Context(), r, []EditURL{edit}).Items[0]
	return outcome.URL, outcome.Err
}

func (s *stack) history(t *testing.T, of audit.HistoryQuery) audit.History {
	t.Helper()
	history, err := s.History(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	return history
}

func (s *stack) mustEdit(t *testing.T, hash string, edit EditURL) {
	t.Helper()
	s.clock = s.clock.Add(time.Hour)
	if _, err := s.edit(t, request("a"), hash, edit); err != nil {
		t.Fatal(err)
	}
}

func (s *stack) types(t *testing.T, stream string) []string {
	t.Helper()
	loaded, err := s.store.Load(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, r := range loaded {
		types = append(types, r.Type)
	}
	return types
}

func (s *stack) wantTypes(t *testing.T, stream string, want ...string) {
	t.Helper()
	if got := s.types(t, stream); !slices.Equal(got, want) {
		t.Errorf("%s holds %v, want %v", stream, got, want)
	}
}

func TestCreateURLs(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	outcome := s.CreateURLs(t.Context(), request("a"), []CreateURL{
		{LongURL: "https://example.com/1", Tags: []string{"Red", "red", "blue"}},
		{LongURL: "nonsense"},
		{
			LongURL: "https://example.com/3", CustomHash: "mine", Note: "0123456789012345678901234-",
			Settings: events.Settings{MaxClicks: 5, ExpirationDate: "2027-01-01"},
		},
	})
	first, second, third := outcome.Items[0], outcome.Items[1], outcome.Items[2]
	if first.Err != nil || !slices.Equal(first.Labels, []string{"Red", "blue"}) || !hashes.Valid(first.URL.Hash) {
		t.Errorf("first: %+v", first)
	}
	if domain.KindOf(second.Err) != domain.InvalidURL {
		t.Errorf("second: %+v", second)
	}
	if third.Err != nil || third.URL.Hash != "mine" || third.URL.Note != "0123456789012345678901234" ||
		third.URL.MaxClicks != 5 {
		t.Errorf("third: %+v", third)
	}
	if outcome.Tags.Commit == 0 || !first.Position.After(outcome.Tags) {
		t.Errorf("tags at %v, first link at %v: want the tags first", outcome.Tags, first.Position)
	}
	s.wantTypes(t, "tags-a", "tag.created.v1", "tag.created.v1")
	s.wantTypes(t, "hash-mine", "hash.claimed.v1")
	s.wantTypes(t, events.LinkStream(third.URL.ID), "url.created.v1")
}

func TestOneWinnerPerHash(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	errs := make([]error, 64)
	commandstest.Together(len(errs), func(i int) {
		account := fmt.Sprintf("account-%d", i%4)
		errs[i] = s.CreateURLs(
			t.Context(), request(account), []CreateURL{{LongURL: "https://example.com", CustomHash: "same"}},
		).Items[0].Err
	})
	winners := 0
	for _, err := range errs {
		if err == nil {
			winners++
		} else if domain.KindOf(err) != domain.HashUnavailable {
			t.Errorf("loser: %v", err)
		}
	}
	if winners != 1 {
		t.Errorf("%d winners", winners)
	}
}

func TestConcurrentEditsAreNotLost(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	url := s.create(t, request("a"), CreateURL{LongURL: "https://example.com", CustomHash: "one"})
	commandstest.Together(64, func(i int) {
		if _, err := s.edit(t, request("a"), "one", EditURL{Tags: []string{fmt.Sprintf("+tag %d", i)}}); err != nil {
			t.Error(err)
		}
	})
	loaded, err := s.streams.Load(t.Context(), events.LinkStream(url.ID))
	if err != nil {
		t.Fatal(err)
	}
	if tags := domain.FoldLink(loaded.Events).Tags; len(tags) != 64 {
		t.Errorf("%d of 64 tags were kept", len(tags))
	}
}

func TestOneWinnerPerRename(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	const n = 32
	for i := range n {
		s.create(t, request("a"), CreateURL{LongURL: "https://example.com", CustomHash: fmt.Sprintf("from-%d", i)})
	}
	errs := make([]error, n)
	commandstest.Together(n, func(i int) {
		_, errs[i] = s.edit(t, request("a"), fmt.Sprintf("from-%d", i), EditURL{CustomHash: commandstest.Ptr("target")})
	})
	winners := 0
	for i, err := range errs {
		if err == nil {
			winners++
			s.wantTypes(t, fmt.Sprintf("hash-from-%d", i), "hash.claimed.v1", "hash.released.v1")
		} else if domain.KindOf(err) != domain.HashUnavailable {
			t.Error(err)
		}
	}
	if winners != 1 {
		t.Errorf("%d winners", winners)
	}
}

func TestEditAndDelete(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	url := s.create(t, request("a"), CreateURL{LongURL: "https://example.com", CustomHash: "one", Tags: []string{"x"}})

	if _, err := s.edit(
		t, request("b"), "one", EditURL{Note: commandstest.Ptr("n")},
	); domain.KindOf(err) != domain.URLNotFound {
		t.Errorf("another account: %v", err)
	}
	if _, err := s.edit(t, request("a"), "none", EditURL{}); domain.KindOf(err) != domain.URLNotFound {
		t.Errorf("unknown: %v", err)
	}
	if _, err := s.edit(t, request("a"), "no hash", EditURL{}); domain.KindOf(err) != domain.InvalidHash {
		t.Errorf("impossible: %v", err)
	}
	if _, err := s.edit(
		t, request("a"), "one", EditURL{Tags: []string{"-y"}},
	); domain.KindOf(err) != domain.TagNotFound {
		t.Errorf("unknown tag: %v", err)
	}
	edited, err := s.edit(
		t, request("a"), "one",
		EditURL{
			CustomHash: commandstest.Ptr("two"), Tags: []string{"-x", "+y"},
			SettingsChange: events.SettingsChange{Protected: commandstest.Ptr(true)},
		},
	)
	if err != nil || edited.Hash != "two" || len(edited.Tags) != 1 || edited.Tags[0] == url.Tags[0] {
		t.Errorf("edited: %+v, %v", edited, err)
	}
	if _, err := s.edit(t, request("a"), "one", EditURL{}); domain.KindOf(err) != domain.URLNotFound {
		t.Errorf("the old hash: %v", err)
	}
	if err := s.DeleteURLs(t.Context(), request("a"), linkwrite.ByHash("two"))[0].Err; domain.KindOf(err) != domain.URLProtected {
		t.Errorf("protected: %v", err)
	}
	if _, err := s.edit(
		t, request("a"), "two", EditURL{SettingsChange: events.SettingsChange{Protected: commandstest.Ptr(false)}},
	); err != nil {
		t.Error(err)
	}
	if err := s.DeleteURLs(t.Context(), request("a"), linkwrite.ByHash("two"))[0].Err; err != nil {
		t.Error(err)
	}
	if err := s.DeleteURLs(t.Context(), request("a"), linkwrite.ByHash("two"))[0].Err; domain.KindOf(err) != domain.URLNotFound {
		t.Errorf("deleted: %v", err)
	}
	taken := s.CreateURLs(
		t.Context(), request("b"), []CreateURL{{LongURL: "https://example.com", CustomHash: "two"}},
	).Items[0].Err
	if domain.KindOf(taken) != domain.HashUnavailable {
		t.Errorf("another account got a deleted hash: %v", taken)
	}
	s.create(t, request("a"), CreateURL{LongURL: "https://example.com", CustomHash: "two"})
	s.wantTypes(t, "hash-two", "hash.claimed.v1", "hash.released.v1", "hash.claimed.v1")
}

func TestBatches(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for _, hash := range []string{"one", "two"} {
		s.create(
			t, request("a"), CreateURL{LongURL: "https://example.com/" + hash, CustomHash: hash, Tags: []string{"x"}},
		)
	}
	edited := s.EditURLs(t.Context(), request("a"), []EditURL{
		{Ref: linkwrite.Ref{Hash: "one"}, Tags: []string{"-x", "+y"}},
		{Ref: linkwrite.Ref{Hash: "two"}, Tags: []string{`+a"b`}},
		{Ref: linkwrite.Ref{Hash: "none"}},
		{Ref: linkwrite.Ref{Hash: "one"}, Tags: []string{"x"}},
	})
	if got := edited.Items[3].Labels; edited.Items[0].Err != nil || !slices.Equal(got, []string{"y", "x"}) {
		t.Errorf("edited: %+v", edited.Items)
	}
	if domain.KindOf(edited.Items[1].Err) != domain.InvalidLabel ||
		domain.KindOf(edited.Items[2].Err) != domain.URLNotFound || edited.Tags.Commit == 0 {
		t.Errorf("refused: %+v", edited)
	}
	reset, refs := request("a"), linkwrite.ByHash("one", "none", "two")
	for range 2 {
		outcomes := s.ResetStats(t.Context(), reset, refs)
		if outcomes[0].Err != nil || domain.KindOf(outcomes[1].Err) != domain.URLNotFound || outcomes[2].Err != nil {
			t.Errorf("reset: %+v", outcomes)
		}
	}
	s.wantTypes(
		t, events.LinkStream(edited.Items[0].URL.ID), "url.created.v1", "url.tagged.v1", "url.untagged.v1", "url.tagged.v1",
		"url.stats_reset.v1",
	)
	deleted := s.DeleteURLs(t.Context(), request("a"), linkwrite.ByHash("one", "two", "one"))
	if deleted[0].Err != nil || deleted[1].Err != nil || domain.KindOf(deleted[2].Err) != domain.URLNotFound {
		t.Errorf("deleted: %+v", deleted)
	}
}

func TestRenameAndBack(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	url := s.create(t, request("a"), CreateURL{LongURL: "https://example.com", CustomHash: "one"})
	for _, to := range []string{"two", "one", "two", "one"} {
		from := map[string]string{"one": "two", "two": "one"}[to]
		if _, err := s.edit(t, request("a"), from, EditURL{CustomHash: commandstest.Ptr(to)}); err != nil {
			t.Fatalf("%s to %s: %v", from, to, err)
		}
	}
	s.wantTypes(
		t, events.LinkStream(url.ID), "url.created.v1", "url.renamed.v1", "url.renamed.v1", "url.renamed.v1", "url.renamed.v1",
	)
}

func TestCommandsAreRepeatable(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	create := request("a")
	create.Repeated = true
	items := []CreateURL{
		{LongURL: "https://example.com/1"}, {LongURL: "https://example.com/2", CustomHash: "two", Tags: []string{"x"}},
	}
	outcomes := make([]URLsOutcome, 16)
	commandstest.Together(len(outcomes), func(i int) { outcomes[i] = s.CreateURLs(t.Context(), create, items) })
	for _, outcome := range outcomes {
		for j, item := range outcome.Items {
			if item.Err != nil || item.URL.ID != outcomes[0].Items[j].URL.ID ||
				item.URL.Hash != outcomes[0].Items[j].URL.Hash ||
				item.Position != outcomes[0].Items[j].Position {
				t.Errorf("item %d: %+v, first %+v", j, item, outcomes[0].Items[j])
			}
		}
	}

	edit := request("a")
	for range 3 {
		if url, err := s.edit(t, edit, "two", EditURL{CustomHash: commandstest.Ptr("three")}); err != nil ||
			url.Hash != "three" {
			t.Errorf("repeated edit: %+v, %v", url, err)
		}
	}
	remove := request("a")
	for range 3 {
		if outcome := s.DeleteURLs(t.Context(), remove, linkwrite.ByHash("three"))[0]; outcome.Err != nil {
			t.Errorf("repeated deletion: %v", outcome.Err)
		}
	}
	s.wantTypes(t, events.LinkStream(outcomes[0].Items[1].URL.ID), "url.created.v1", "url.renamed.v1", "url.deleted.v1")
	s.wantTypes(t, "tags-a", "tag.created.v1")
}

func (s *stack) claimOnly(t *testing.T, account, hash, urlID string) {
	t.Helper()
	if _, err := s.hashes.Claim(t.Context(), request(account), hash, urlID, eventstore.NoStream); err != nil {
		t.Fatal(err)
	}
}

// TestSpentClaimIsNotReused checks that a link that returns to a hash claims it again, because
// another account may have claimed it in the meantime.
func TestSpentClaimIsNotReused(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.claimOnly(t, "a", "one", "url")
	if again, err := s.hashes.Claim(t.Context(), request("a"), "one", "url", eventstore.NoStream); err != nil ||
		again != 0 {
		t.Errorf("not spent: claim at %d, want 0, %v", again, err)
	}
	if next, err := s.hashes.Claim(t.Context(), request("a"), "one", "url", 0); err != nil || next != 1 {
		t.Errorf("spent: claim at %d, want 1, %v", next, err)
	}
}

// TestOrphanedClaimIsTakenOver checks that the claim of a process that died before it created its
// link can be taken over after a minute. If that process was only slow, its link must not be
// created later.
func TestOrphanedClaimIsTakenOver(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	late := uuid.NewString()
	s.claimOnly(t, "a", "orphan", late)
	create := func() error {
		return s.CreateURLs(
			t.Context(), request("b"), []CreateURL{{LongURL: "https://example.com", CustomHash: "orphan"}},
		).Items[0].Err
	}
	if err := create(); domain.KindOf(err) != domain.HashUnavailable {
		t.Fatalf("within the minute: %v", err)
	}
	s.clock = s.clock.Add(hashes.ClaimTimeout)
	if err := create(); err != nil {
		t.Fatalf("after the minute: %v", err)
	}
	_, err := s.streams.Append(
		t.Context(), request("a"), events.StreamURL+late, eventstore.NoStream, commandstest.Created(),
	)
	if err == nil {
		t.Error("the late link was created: its hash has two owners")
	}
}

func TestOrphanedRenameIsTakenOver(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	url := s.create(t, request("a"), CreateURL{LongURL: "https://example.com", CustomHash: "from"})
	s.claimOnly(t, "a", "to", url.ID)
	s.clock = s.clock.Add(hashes.ClaimTimeout)
	s.create(t, request("b"), CreateURL{LongURL: "https://example.com", CustomHash: "to"})
	s.wantTypes(t, events.LinkStream(url.ID), "url.created.v1", "url.claim_abandoned.v1")
	if _, err := s.edit(
		t, request("a"), "from", EditURL{CustomHash: commandstest.Ptr("to")},
	); domain.KindOf(err) != domain.HashUnavailable {
		t.Errorf("the rename used an abandoned claim: %v", err)
	}
}

// TestLostReleaseKeepsTheHashWithItsAccount checks that a hash stays with its account if a crash
// prevents its release, which is the last step of a deletion.
func TestLostReleaseKeepsTheHashWithItsAccount(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	url := s.create(t, request("a"), CreateURL{LongURL: "https://example.com", CustomHash: "gone"})
	deleted := events.URLDeleted{Account: "a", Hash: "gone", At: commandstest.At}
	if _, err := s.streams.Append(t.Context(), request("a"), events.LinkStream(url.ID), 0, deleted); err != nil {
		t.Fatal(err)
	}
	s.clock = s.clock.Add(time.Hour)
	other := s.CreateURLs(
		t.Context(), request("b"), []CreateURL{{LongURL: "https://example.com", CustomHash: "gone"}},
	).Items[0].Err
	if domain.KindOf(other) != domain.HashUnavailable {
		t.Errorf("another account: %v", other)
	}
	s.create(t, request("a"), CreateURL{LongURL: "https://example.com", CustomHash: "gone"})
}

func TestTags(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	ids := make([]string, 64)
	commandstest.Together(len(ids), func(i int) {
		outcome, err := s.CreateTag(t.Context(), request("a"), []string{"Straße 1", "STRAßE 1"}[i%2])
		if err != nil {
			t.Error(err)
		}
		ids[i] = outcome.Tag.ID
	})
	if slices.Sort(ids); ids[0] != ids[63] {
		t.Error("one label has two tags")
	}
	if _, err := s.CreateTag(t.Context(), request("a"), "other"); err != nil {
		t.Error(err)
	}
	if _, err := s.RenameTag(
		t.Context(), request("a"), "other", "straße 1",
	); domain.KindOf(err) != domain.InvalidLabel {
		t.Errorf("onto another's label: %v", err)
	}
	if renamed, err := s.RenameTag(t.Context(), request("a"), "OTHER", "Other"); err != nil ||
		renamed.Tag.Label != "Other" {
		t.Errorf("another spelling: %+v, %v", renamed, err)
	}
	if _, err := s.DeleteTag(t.Context(), request("a"), "other"); err != nil {
		t.Error(err)
	}
	if _, err := s.DeleteTag(t.Context(), request("a"), "other"); domain.KindOf(err) != domain.TagNotFound {
		t.Errorf("deleted twice: %v", err)
	}
}

// opens reports whether a key is one of the account and not revoked.
func opens(a accounts.Account, key string) bool {
	return slices.ContainsFunc(a.Keys, func(k accounts.Key) bool {
		return k.RevokedAt.IsZero() && access.SameKey(access.HashKey(key), k.Hash)
	})
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	ctx := t.Context()
	opened, err := s.Open(ctx, request(""), "demo", "free")
	if err != nil || !opened.Account.Active || !opens(opened.Account, opened.Key) {
		t.Fatalf("opened: %+v, %v", opened, err)
	}
	if _, err := s.Open(ctx, request(""), "demo", "free"); domain.KindOf(err) != domain.InvalidUsername {
		t.Errorf("opened twice: %v", err)
	}
	for _, name := range []string{"", "De mo", "-x", "a:b", "DEMO"} {
		if _, err := s.Open(ctx, request(""), name, "free"); domain.KindOf(err) != domain.InvalidUsername {
			t.Errorf("%q: %v", name, err)
		}
	}
	rotated, err := s.RotateKey(ctx, request(""), "demo")
	if err != nil || opens(rotated.Account, opened.Key) || !opens(rotated.Account, rotated.Key) {
		t.Errorf("rotated: %+v, %v", rotated, err)
	}
	for range 2 {
		if changed, err := s.Deactivate(ctx, request(""), "demo"); err != nil || changed.Account.Active {
			t.Errorf("deactivated: %+v, %v", changed, err)
		}
	}
	if changed, err := s.Reactivate(ctx, request(""), "demo"); err != nil || !changed.Account.Active {
		t.Errorf("reactivated: %+v, %v", changed, err)
	}
	if changed, err := s.Edit(ctx, request(""), "demo", accounts.Change{Plan: new("pro")}); err != nil ||
		changed.Account.Plan != "pro" {
		t.Errorf("plan: %+v, %v", changed, err)
	}
	for _, day := range []string{"2027-12-31", "2027-12-31", ""} {
		if changed, err := s.Edit(ctx, request(""), "demo", accounts.Change{ExpirationDate: &day}); err != nil ||
			changed.Account.ExpirationDate != day || changed.Account.Plan != "pro" {
			t.Errorf("another expiration date: %+v, %v", changed, err)
		}
	}
	if _, err := s.Edit(
		ctx, request(""), "demo", accounts.Change{ExpirationDate: new("tomorrow")},
	); domain.KindOf(err) != domain.InvalidDate {
		t.Errorf("an invalid date: %v", err)
	}
	if _, err := s.Edit(
		ctx, request(""), "nobody", accounts.Change{Plan: new("pro")},
	); domain.KindOf(err) != domain.AccountNotFound {
		t.Errorf("unknown: %v", err)
	}
	s.wantTypes(t, "account-"+opened.Account.ID, "account.opened.v1", "account.key_rotated.v1",
		"account.deactivated.v1", "account.reactivated.v1", "account.plan_changed.v1",
		"account.expiry_changed.v1", "account.expiry_changed.v1")
}

// TestClaimedUsernameCanBeOpened checks that a crash between the claim of a user name and the
// creation of its account does not make the name unusable.
func TestClaimedUsernameCanBeOpened(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	commandstest.AppendAll(t, s.store, events.StreamUsername+"demo", eventstore.NoStream,
		events.UsernameClaimed{Username: "demo", Account: uuid.NewString(), At: commandstest.At})
	if opened, err := s.Open(t.Context(), request(""), "demo", "free"); err != nil || opened.Account.ID == "" {
		t.Errorf("%+v, %v", opened, err)
	}
}
