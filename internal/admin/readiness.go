package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"linkledger/projections"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/status"
)

const (
	// healthTimeout bounds each check of a readiness probe.
	healthTimeout = 2 * time.Second
	// The owner of a projection is the process that keeps it up to date. ownerGrace is how long a
	// probe waits for a projection without an owner to get one. Another process takes the place of
	// a killed owner sooner than that, so the kill does not make all nodes unready.
	ownerGrace = 500 * time.Millisecond
	ownerPoll  = 50 * time.Millisecond
)

// errBuilding is why a service with a new database is not ready.
var errBuilding = errors.New("the read models are built from the log, and requests wait until " +
	"they are complete")

// errTables is why a service of a new version is not ready for visitors.
var errTables = errors.New("the read models are built in the form of this version, and requests " +
	"are refused until they are complete")

// finding is the result of a probe: the state of each part by its name, and the HTTP status.
type finding struct {
	parts map[string]string
	code  int
}

func findingOf(checks map[string]error) finding {
	s := finding{make(map[string]string, len(checks)+1), http.StatusOK}
	for name, err := range checks {
		s.parts[name] = "ok"
		if err != nil {
			s.parts[name] = err.Error()
			s.code = http.StatusServiceUnavailable
		}
	}
	return s
}

// probe returns the handler of a probe. It answers 200 if the work can be done, otherwise 503. The
// body has the state of each part.
func (s *Service) probe(look func(context.Context) finding) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		found := look(r.Context())
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(found.code)
		err := json.NewEncoder(w).Encode(found.parts)
		if err != nil && !errors.Is(err, context.Canceled) {
			s.Logger.DebugContext(r.Context(), "readiness not sent", slog.Any("error", err))
		}
	}
}

// process checks what every request needs from the process. serves is false if the process does not
// have the role for the work that the probe is about.
func (s *Service) process(serves bool) map[string]error {
	process := s.Stopping.Err()
	if s.Building() {
		process = cmp.Or(process, errBuilding)
	}
	if !serves {
		process = cmp.Or(process, errRole)
	}
	return map[string]error{"process": process, "clocks": s.Clocks.Problem()}
}

// errRole is why a process is not ready for the work of a role that it does not have.
var errRole = errors.New("the process has another role: see --roles")

// forRedirects checks whether visitors can be redirected. It asks neither the event store nor the
// database, because links in memory are served without them.
func (s *Service) forRedirects(context.Context) finding {
	checks := s.process(s.Spooled)
	checks["clicks"] = s.Clicks.Health()
	select {
	case <-s.Served:
	default:
		checks["process"] = cmp.Or(checks["process"], errTables)
	}
	return findingOf(checks)
}

// forReads checks whether the API can answer calls that read. It does not ask the event store,
// because the read models are served without it.
func (s *Service) forReads(ctx context.Context) finding {
	checks := s.process(s.API)
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	overviews, err := s.settledGenerations(ctx)
	checks["database"] = err
	s.checkProjections(checks, overviews, nil)
	return findingOf(checks)
}

// forWrites checks whether the API can answer calls that change something.
func (s *Service) forWrites(ctx context.Context) finding {
	found := s.ready(ctx)
	if !s.API {
		found.parts["process"] = cmp.Or(s.Stopping.Err(), errRole).Error()
		found.code = http.StatusServiceUnavailable
	}
	return found
}

// ready checks whether everything works.
func (s *Service) ready(ctx context.Context) finding {
	checks, faltering := s.check(ctx)
	maps.Copy(checks, s.process(true))
	checks["clicks"] = s.Clicks.Health()
	found := findingOf(checks)
	// A degraded part does not change the status, because links are still served.
	degraded := s.degraded(ctx)
	maps.Copy(degraded, faltering)
	for name, what := range degraded {
		if _, checked := checks[name]; !checked || checks[name] == nil {
			found.parts[name] = what
		}
	}
	if s.Spooled {
		found.parts["spool"] = s.Clicks.Stats().Backlog.String()
		if err := s.Clicks.SpoolTrouble(); err != nil {
			found.parts["spool"] += "; degraded: takes no clicks: " + err.Error()
		}
	}
	if s.Backup != nil {
		found.parts["backup"] = strings.ReplaceAll(s.Backup(), "\n", "; ")
	}
	if fault, offered := s.SignIn(); fault != nil {
		found.parts["sign-in"] = "degraded: " + strings.ReplaceAll(fault.Error(), "\n", "; ")
	} else if offered {
		found.parts["sign-in"] = "ok"
	}
	return found
}

// check asks the event store and the database at the same time. If a backend does not answer, check
// reports that once and not for each projection, because the state of the projections is then not
// known. faltering has the problems of projections that do not yet lag too much.
func (s *Service) check(
	ctx context.Context,
) (checks map[string]error, faltering map[string]string) {
	var store, database, generations, lag error
	var overviews []status.Overview
	var asking sync.WaitGroup
	ask := func(probe func(context.Context)) {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, healthTimeout)
			defer cancel()
			probe(ctx)
		})
	}
	ask(func(ctx context.Context) { _, store = s.Store.Head(ctx) })
	ask(func(ctx context.Context) { database = s.DB.PingContext(ctx) })
	ask(func(ctx context.Context) { overviews, generations = s.settledGenerations(ctx) })
	asking.Wait()
	if store == nil {
		ask(func(ctx context.Context) {
			lag = status.AddLag(ctx, projections.All(), s.Store, overviews)
		})
		asking.Wait()
	}
	checks = map[string]error{"eventstore": store, "database": database}
	faltering = make(map[string]string)
	if generations == nil {
		generations = lag
	}
	if database == nil && generations != nil {
		checks["projections"] = generations
	}
	s.checkProjections(checks, overviews, store)
	for _, o := range overviews {
		if what := s.faltering(o); o.Serving && what != "" && store == nil {
			faltering["projection "+o.Name] = what
		}
	}
	return checks, faltering
}

// checkProjections adds the state of the projections. store is the error of the event store, or nil
// if it answers.
func (s *Service) checkProjections(
	checks map[string]error, overviews []status.Overview, store error,
) {
	for _, o := range overviews {
		if o.Serving {
			if store != nil { // the part eventstore of the answer has the cause
				o.LastError = "the event store does not answer"
			}
			checks["projection "+o.Name] = cmp.Or(missing(o, overviews), s.problem(o))
		}
	}
	if err := misplaced(overviews); err != nil {
		checks["log"] = err
	}
}

// errSeeLog is the problem of a misplaced projection: it has applied events that the log lacks. The
// part log of the answer has the details, once for all such projections.
var errSeeLog = errors.New("misplaced: see log")

// misplaced returns an error if the log lacks events that serving projections have applied. The
// error says what is done about it. If the log lacks none, misplaced returns nil.
func misplaced(all []status.Overview) error {
	var names, building []string
	why := ""
	for _, o := range all {
		switch {
		case o.Serving && o.State == status.Misplaced:
			names, why = append(names, o.Name), o.LastError
		case !o.Built:
			building = append(building, fmt.Sprintf("%s at %s", o.Name, o.Position))
		}
	}
	if len(names) == 0 {
		return nil
	}
	how := "they are built anew by themselves within seconds"
	if len(building) > 0 {
		how = "they are built anew: " + strings.Join(building, ", ")
	}
	return fmt.Errorf("lacks events of the read models of %s: %s; until then calls are refused "+
		"and visitors get what the log has (%s)", strings.Join(names, ", "), how, why)
}

// standstill is the lag above which a probe calls a projection degraded.
const standstill = 3 * time.Second

// faltering returns in one line why a projection makes no progress at present. It returns "" if
// there is nothing to report.
func (s *Service) faltering(o status.Overview) string {
	reason := o.LastError
	for _, own := range s.Projections.All() {
		if own.Err != nil && own.Projection == o.Name && own.Generation == o.Generation {
			reason = own.Err.Error()
		}
	}
	reason = generation.Storable(reason)
	awaited := slices.Contains(projections.Awaited(), o.Name)
	switch {
	case reason != "":
		return fmt.Sprintf("degraded: makes no progress at position %s: %s", o.Position, reason)
	case awaited && o.Lag > standstill:
		return fmt.Sprintf("degraded: %s at position %s, lags by %s, %d events: no error is known",
			o.State, o.Position, o.Lag.Round(time.Second), o.LagEvents)
	}
	return ""
}

// degraded returns the problems that do not keep the service from serving links, by the names of
// the parts of a probe.
func (s *Service) degraded(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	degraded := make(map[string]string)
	if err := s.Store.Refusal(ctx); err != nil {
		degraded["eventstore"] = "degraded: " + err.Error()
	}
	if err := s.Disk.Trouble(); err != nil {
		degraded["database"] = "degraded: its disk takes no writes: " + err.Error()
	}
	if says := s.lostKeys(ctx); says != "" {
		degraded["keys"] = says
	}
	summaries, err := deadletter.Summaries(ctx, s.DB)
	if err != nil { // the part database of the answer reports this
		return degraded
	}
	for _, of := range summaries {
		degraded["projection "+of.Name] = fmt.Sprintf(
			"degraded: events that cannot be applied are set aside, of streams: %d, first of %s: "+
				"%s; see linkledger projections dead-letters list %s",
			of.Streams, of.Stream, of.Error, of.Name,
		)
	}
	return degraded
}

// namedAccounts is how many accounts a probe names.
const namedAccounts = 10

// lostKeys names the accounts whose old notes cannot be read because the keys are lost. It returns
// "" if no keys are lost.
func (s *Service) lostKeys(ctx context.Context) string {
	lost, err := s.DB.Keys.Lost(ctx)
	if err != nil || lost.UpTo == 0 { // the part database of the answer reports err
		return ""
	}
	var names []string
	if err := s.DB.NewRaw(`SELECT username FROM linkledger.accounts
		WHERE created_at < ? AND NOT erased ORDER BY username LIMIT ?`, lost.At, namedAccounts+1,
	).Scan(ctx, &names); err != nil {
		return ""
	}
	if len(names) > namedAccounts {
		names[namedAccounts] = "others"
	}
	return fmt.Sprintf("degraded: the keys of before %s are lost, so encrypted notes of these "+
		"accounts cannot be read: %s", lost.At.Format(time.RFC3339), strings.Join(names, ", "))
}

// missing returns nil if the serving generation of a projection has the tables that this version
// needs. Otherwise the error says how far the generation with these tables is.
func missing(serving status.Overview, all []status.Overview) error {
	if serving.Current {
		return nil
	}
	for _, o := range all {
		if o.Name == serving.Name && o.Current {
			return fmt.Errorf("generation %d, which this version needs, is %s at position %s: %s",
				o.Generation, o.State, o.Position, cmp.Or(o.LastError, "no error"))
		}
	}
	return errors.New("the generation that this version needs is missing: restart the service")
}

// problem returns why readers should not rely on a projection. It returns nil if they can rely on
// it.
func (s *Service) problem(o status.Overview) error {
	switch {
	case o.State == status.Unowned:
		return fmt.Errorf("%s at position %s: no process keeps it up to date", o.State, o.Position)
	case o.State == status.Misplaced:
		return errSeeLog
	case o.State == status.Paused, o.State == status.Stopped:
		return fmt.Errorf(
			"%s at position %s: %s", o.State, o.Position, cmp.Or(o.LastError, "by an operator"),
		)
	case o.Lag > s.MaxLag:
		return fmt.Errorf(
			"%s: lags by %s, %d events: %s", o.State, o.Lag.Round(time.Second), o.LagEvents,
			cmp.Or(o.LastError, "no error"),
		)
	}
	return nil
}

// settledGenerations returns the generations of the projections as soon as all serving ones have
// owners, or at the end of ownerGrace.
func (s *Service) settledGenerations(ctx context.Context) ([]status.Overview, error) {
	grace := time.After(ownerGrace)
	for {
		overviews, err := status.Generations(ctx, s.DB)
		if err != nil || !slices.ContainsFunc(overviews, unowned) {
			return overviews, err
		}
		select {
		case <-grace:
			return overviews, nil
		case <-ctx.Done():
			return overviews, nil
		case <-time.After(ownerPoll):
		}
	}
}

func unowned(o status.Overview) bool { return o.Serving && o.State == status.Unowned }
