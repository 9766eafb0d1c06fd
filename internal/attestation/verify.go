package attestation

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"linkledger/events/eventstore"
	"linkledger/events/proof"
	"linkledger/events/proof/streamcheck"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/usage"
	"linkledger/projections/readmodel"
	"linkledger/queries/logtree"
)

// auditGCPercent is the target percentage of the garbage collector during an audit. Reading the log
// makes much garbage and keeps little. With the default of 100, the collector would cost a third of
// the time, to save some 30 MB.
const auditGCPercent = 400

// Verify compares the whole log with its tree and with the signed heads in files, and prints what
// differs.
func Verify(
	ctx context.Context, o installation.Operator, checkpoints []string, publicKey string,
) error {
	heads, written, err := readHeads(checkpoints, publicKey)
	if err != nil {
		return err
	}
	debug.SetGCPercent(auditGCPercent)
	return o.Operate(ctx, func(
		ctx context.Context, db *readmodel.DB, store *eventstore.Store,
	) error {
		found, streams, err := auditLog(ctx, o, logtree.New(db), store, heads)
		if ctx.Err() != nil {
			return usage.Errorf("interrupted: nothing was changed")
		}
		if err != nil {
			return err
		}
		cuts, err := newPrintedCuts(ctx, store, streams)
		if err != nil {
			return err
		}
		return printFindings(o, found, cuts, written)
	})
}

// auditLog compares the log up to its current end with the tree and the heads. It reads the tree
// before it looks for the end of the log. So every event of the tree is in the log up to this end,
// unless the log was altered.
func auditLog(
	ctx context.Context, o installation.Operator, q *logtree.Reader, store *eventstore.Store,
	heads []proof.Head,
) (proof.Findings, *streamcheck.Check, error) {
	tree, err := q.Tree(ctx)
	if err != nil {
		return proof.Findings{}, nil, err
	}
	end, err := store.Head(ctx)
	if err != nil {
		return proof.Findings{}, nil, err
	}
	upTo := eventstore.Position{Commit: tree.Commit, Prepare: tree.Prepare}
	audit := proof.NewAudit(proof.StoredTree{Size: tree.Size, UpTo: upTo, Leaves: q.Leaves}, heads)
	streams := streamcheck.New()
	show, ended := console.Progress(o.Stderr)
	events := int64(0)
	err = store.ReadWholeLog(ctx, eventstore.Position{}, end, func(
		batch []eventstore.Recorded,
	) error {
		events += int64(len(batch))
		show(fmt.Sprintf("%d events", events), batch[len(batch)-1].Position.Commit, end.Commit)
		streams.Add(batch)
		ofPrograms := slices.DeleteFunc(
			batch, func(r eventstore.Recorded) bool { return strings.HasPrefix(r.Stream, "$") },
		)
		return audit.Add(ctx, ofPrograms) // heads do not cover streams of the event store itself
	})
	ended(err == nil)
	if err != nil {
		return proof.Findings{}, nil, err
	}
	found, err := audit.Findings(ctx)
	return found, streams, err
}

// printedFindings is the printed form of the result of an audit.
type printedFindings struct {
	Events   int64  `json:"events"`
	Position uint64 `json:"position"` // position of the last event
	Root     string `json:"root"`
	// Fitting has the sizes of the heads that fit the log.
	Fitting    []int64            `json:"fitting"`
	Alteration *printedAlteration `json:"alteration"`
	printedCuts
}

type printedAlteration struct {
	Of    proof.Suspect `json:"of"`
	First printedPlace  `json:"first"`
	Last  printedPlace  `json:"last"`
	Head  *int64        `json:"head"` // size of the head that does not fit
	// Missing is how many events the log lacks at its end. Since is when the last event of the log
	// was recorded. The missing events were recorded after that.
	Missing int64      `json:"missing,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
	// Until is when the file of the head was written. The missing events were recorded before that.
	Until *time.Time `json:"until,omitempty"`
	// Sound is set only with Missing. It reports whether all events of the log are known to be
	// unaltered.
	Sound bool `json:"sound,omitempty"`
	// Forks reports whether no event from First on was in the log of the head. Then AgreedUntil is
	// when the last event before First was recorded, and Differs is when First was recorded.
	Forks       bool       `json:"forks,omitempty"`
	AgreedUntil *time.Time `json:"agreed_until,omitempty"`
	Differs     *time.Time `json:"differs_since,omitempty"`
	// DeniedBy is the size of a head that fits the log and has at least as many events as the head
	// that does not fit. See proof.Alteration.
	DeniedBy *int64 `json:"denied_by,omitempty"`
}

type printedPlace struct {
	Index    int64  `json:"index"`
	Position uint64 `json:"position"`
	Stream   string `json:"stream"`
	Revision int64  `json:"revision"`
	Type     string `json:"type"`
	End      bool   `json:"end"` // the end of the log
}

func newPrintedPlace(p proof.Place) printedPlace {
	return printedPlace{p.Index, p.Position.Commit, p.Stream, int64(p.Revision), p.Type, p.End}
}

func printFindings(
	o installation.Operator, found proof.Findings, cuts printedCuts, written map[int64]time.Time,
) error {
	view := printedFindings{
		printedCuts: cuts,
		Events:      found.Tree.N, Position: found.Last.Commit, Root: found.Tree.Hash.String(),
		Fitting: []int64{},
	}
	for _, head := range found.Matching {
		view.Fitting = append(view.Fitting, head.N)
	}
	if a := found.Alteration; a != nil {
		view.Alteration = &printedAlteration{
			Of: a.Of, First: newPrintedPlace(a.First), Last: newPrintedPlace(a.Last),
		}
		if a.Head != nil {
			view.Alteration.Head = &a.Head.N
		}
		if a.Missing > 0 {
			since, until := a.First.Time.UTC(), written[a.Head.N].UTC()
			if !a.First.End { // else First has the time of the last event
				since = a.Last.Time.UTC()
			}
			view.Alteration.Missing, view.Alteration.Sound = a.Missing, a.Sound
			view.Alteration.Since, view.Alteration.Until = &since, &until
		}
		if a.Forks && a.Agreed != nil {
			until := a.Agreed.Time.UTC()
			view.Alteration.AgreedUntil = &until
		}
		if a.Forks {
			since := a.First.Time.UTC()
			view.Alteration.Forks, view.Alteration.Differs = true, &since
		}
		if a.DeniedBy != nil {
			view.Alteration.DeniedBy = &a.DeniedBy.N
		}
	}
	var err error
	if o.JSON {
		err = console.JSON(o.Stdout, view)
	} else {
		err = console.Printf(o.Stdout, "%d events up to position %d, root hash %s; signed heads "+
			"that fit: %d\n", view.Events, view.Position, view.Root, len(view.Fitting))
		err = errors.Join(err, cuts.print(o.Stdout))
	}
	explained := explainAlteration(found.Alteration)
	if view.Alteration != nil && view.Alteration.Missing > 0 {
		explained = explainShorter(*view.Alteration, view.Events)
	}
	if a := found.Alteration; a != nil && a.Forks && a.DeniedBy == nil {
		explained = explainFork(*a, written[a.Head.N])
	}
	return errors.Join(err, explained, cuts.explain())
}

// explainShorter returns the error for a log that is shorter than a signed head. The error says
// which events are missing.
func explainShorter(a printedAlteration, events int64) error {
	sound := "What the log has is unaltered."
	if !a.Sound {
		sound = "It is not known whether the rest of the log is unaltered: the tree in " +
			"PostgreSQL is not that of the head. Give an older head too."
	}
	return fmt.Errorf("the log is shorter than the head of %d events, as after the restore of an "+
		"older backup: events %d to %d are missing (%d). They were recorded after %s, the time "+
		"of the last event that the log has, and before %s, the time of the head's file. %s",
		*a.Head, events+1, *a.Head, a.Missing, a.Since.Format(time.RFC3339),
		a.Until.Format(time.RFC3339), sound)
}

// explainFork returns the error for a log that agrees with a signed head only up to some event.
// written is when the file of the head was written.
func explainFork(a proof.Alteration, written time.Time) error {
	agreed := "They agree in no event"
	lost := "before " + written.UTC().Format(time.RFC3339)
	if a.Agreed != nil {
		agreed = "They agree up to " + placeText(*a.Agreed) + ", recorded at " + timeText(*a.Agreed)
		lost = "after that and " + lost
	}
	return fmt.Errorf("the log forks from the log of the head of %d events, as after the "+
		"restore of an older backup on which the service went on. %s. From %s on, recorded at %s, "+
		"no event is in the log of the head. Events %d to %d of that log are lost. They were "+
		"recorded %s, the time of the head's file. If no backup was restored, the log was "+
		"altered there",
		a.Head.N, agreed, placeText(a.First), timeText(a.First), a.First.Index+1, a.Head.N, lost)
}

func timeText(p proof.Place) string { return p.Time.UTC().Format(time.RFC3339) }

// explainAlteration returns an error that says what was altered and where. If a is nil, it returns
// nil.
func explainAlteration(a *proof.Alteration) error {
	switch {
	case a == nil:
		return nil
	case a.Of == proof.AlteredTree:
		return fmt.Errorf(
			"the tree in PostgreSQL was altered from %s on, but a signed head confirms the log. "+
				"To repair the tree, run linkledger projections rebuild tree",
			placeText(a.First),
		)
	case a.Of == proof.Either:
		return fmt.Errorf(
			"log and tree differ from %s on, and no signed head was given that goes so far: one "+
				"of them was altered",
			placeText(a.First),
		)
	case a.DeniedBy != nil:
		return fmt.Errorf("two signed heads contradict each other: the head of %d events fits, "+
			"the head of %d does not. The log was altered from %s to %s before the former was "+
			"signed, or the latter is of another log",
			a.DeniedBy.N, a.Head.N, placeText(a.First), placeText(a.Last))
	case a.First == a.Last:
		return fmt.Errorf(
			"the log was altered: the first event that does not fit the head of %d events is %s",
			a.Head.N, placeText(a.First),
		)
	}
	return fmt.Errorf("the log is not that of the head of %d events, and the tree in PostgreSQL "+
		"is that of the log: either an older backup was restored, the service went on, and the "+
		"tree was built anew, or the log was altered, and the tree with it. The first event "+
		"that does not fit lies from %s, recorded at %s, to %s, recorded at %s. An older head "+
		"that fits narrows it",
		a.Head.N, placeText(a.First), timeText(a.First), placeText(a.Last), timeText(a.Last))
}

func placeText(p proof.Place) string {
	if p.End {
		return fmt.Sprintf("the end of the log after position %d", p.Position.Commit)
	}
	return fmt.Sprintf(
		"position %d (event %d of %s, %s)", p.Position.Commit, p.Revision, p.Stream, p.Type,
	)
}
