package operators

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/console/page/words"
	"linkledger/internal/operators/monitor"
	"linkledger/internal/operators/streampages"
	"linkledger/projections"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/rebuild"
	"linkledger/projections/engine/status"
)

// maxListed is how many samples a page lists. It lists the latest ones.
const maxListed = 45

// projectionData is what the page of a projection shows.
type projectionData struct {
	Name         string
	Generations  []monitor.Generation
	Parked       []deadletter.Stream
	Verification *monitor.Verification
	Samples      []monitor.Sample // of the generation that serves, the oldest first
	Store        string           // what is unknown, and why; empty: nothing is unknown
}

// Serving returns the generation that serves.
func (d projectionData) Serving() (serving monitor.Generation) {
	for _, g := range d.Generations {
		if g.Serving {
			serving = g
		}
	}
	return serving
}

// Latest returns the samples that the page lists.
func (d projectionData) Latest() []monitor.Sample {
	return d.Samples[max(0, len(d.Samples)-maxListed):]
}

// Problems returns what an operator should look at.
func (d projectionData) Problems() (problems []string) {
	for _, g := range d.Generations {
		if problem := g.Problem(); problem != "" {
			problems = append(problems, g.Named()+" "+problem)
		}
	}
	return problems
}

// Stopped returns whether a generation waits before it tries a failed batch again.
func (d projectionData) Stopped() bool {
	return slices.ContainsFunc(
		d.Generations, func(g monitor.Generation) bool { return g.State == status.Stopped },
	)
}

// Others returns whether there are generations that do not serve.
func (d projectionData) Others() bool { return len(d.Generations) > 1 }

// named returns the projection that the path of a page names, or a refusal.
func named(p *page.Page) (string, error) {
	name := p.C.Param("name")
	if !slices.Contains(projections.Names(), name) {
		return "", &apierror.Error{
			Code: apierror.CodeInvalidResource, Details: "There is no projection of that name",
		}
	}
	return name, nil
}

func (h *Handler) projection(p *page.Page) error {
	name, err := named(p)
	if err != nil {
		return err
	}
	p.Title = "Projection " + name
	p.Commands = []string{
		"linkledger projections rebuild " + name, "linkledger projections verify " + name,
		"linkledger projections pause " + name, "linkledger projections resume " + name,
		"linkledger projections rollback " + name, "linkledger projections prune " + name,
		"linkledger projections dead-letters list " + name,
		"linkledger projections dead-letters retry " + name,
		"linkledger projections dead-letters discard " + name,
	}
	read, err := h.monitor.Read(p.C.Context())
	if err != nil {
		return err
	}
	data := projectionData{
		Name: name, Store: read.Store, Verification: h.monitor.Verification(name),
		Samples: h.monitor.Samples(name),
		Generations: slices.DeleteFunc(
			read.Generations, func(g monitor.Generation) bool { return g.Name != name },
		),
	}
	data.Parked, err = deadletter.Streams(p.C.Context(), h.DB, name, maxStreams)
	p.Data = data
	return err
}

// done says what each action has done.
var done = map[string]string{
	"rebuild": "The build has begun", "pause": "The projection is paused",
	"resume": "The projection continues", "roll back": "The former generation serves",
	"prune":  "The generations that do not serve are deleted",
	"verify": "The verification is asked for", "retry dead letters": "The events are applied",
	"discard dead letters": "The event is discarded",
}

// do calls act for the projection that a page names, and then shows the page of the projection.
// action is the name of the action. stream is the stream that the action is about; empty: all
// streams.
func (h *Handler) do(
	p *page.Page, action, stream string, act func(ctx context.Context, name string) error,
) error {
	name, err := named(p)
	if err != nil {
		return err
	}
	// An action that has begun is finished even if the browser leaves.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.C.Context()), timeout)
	defer cancel()
	err = act(ctx, name)
	h.did(p, action, name, stream, err == nil)
	if err != nil {
		return refusalOf(err)
	}
	return p.Finish(nil, projectionsPath+"/"+url.PathEscape(name), done[action])
}

// refusalOf returns an error of an action as a refusal with the whole text of the error, for
// operators.
func refusalOf(err error) error {
	if _, own := apierror.Refusal(err); own {
		return err
	}
	return &calls.RefusedError{Status: http.StatusConflict, Text: err.Error()}
}

// rebuildData is what the page for beginning a build shows.
type rebuildData struct {
	Name     string
	Estimate string
}

func (h *Handler) askToRebuild(p *page.Page) error {
	name, err := named(p)
	if err != nil {
		return err
	}
	p.Title = "Rebuild " + name
	p.Commands = []string{"linkledger projections rebuild " + name}
	ctx, cancel := context.WithTimeout(p.C.Context(), h.Patience)
	defer cancel()
	p.Data = rebuildData{name, estimated(projections.EstimateRebuild(ctx, h.DB, h.Store, name))}
	return nil
}

// estimated returns an estimate as a text for people.
func estimated(e rebuild.Estimate, err error) string {
	if err != nil {
		return "How long it takes is not known: " + err.Error()
	}
	text := fmt.Sprintf("The projection follows about %s events of the log. To apply them takes "+
		"about %s", words.Number(int64(e.Events)), words.Duration(e.Took))
	if e.Measured {
		return text + ", as the last build did."
	}
	return text + ", if this machine applies 10 000 events a second. No build was measured yet."
}

func (h *Handler) rebuild(p *page.Page) error {
	return h.do(p, "rebuild", "", func(ctx context.Context, name string) error {
		asking, cancel := context.WithTimeout(ctx, h.Patience)
		defer cancel()
		if _, err := projections.CheckLog(asking, h.DB, h.Store); err != nil {
			return err
		}
		return rebuild.Begin(ctx, projections.All(), h.DB, name)
	})
}

func (h *Handler) pause(p *page.Page) error {
	return h.do(p, "pause", "", func(ctx context.Context, name string) error {
		return projections.Pause(ctx, h.DB, name)
	})
}

func (h *Handler) resume(p *page.Page) error {
	return h.do(p, "resume", "", func(ctx context.Context, name string) error {
		return projections.Resume(ctx, h.DB, name)
	})
}

func (h *Handler) rollback(p *page.Page) error {
	return h.do(p, "roll back", "", func(ctx context.Context, name string) error {
		_, err := projections.Rollback(ctx, h.DB, h.Store, name)
		return err
	})
}

func (h *Handler) prune(p *page.Page) error {
	return h.do(p, "prune", "", func(ctx context.Context, name string) error {
		_, err := projections.Prune(ctx, h.DB, name)
		return err
	})
}

func (h *Handler) verify(p *page.Page) error {
	return h.do(p, "verify", "", func(_ context.Context, name string) error {
		h.monitor.Verify(name)
		return nil
	})
}

func (h *Handler) retry(p *page.Page) error {
	return h.letters(p, "retry dead letters", func(
		ctx context.Context, name, stream string,
	) (int, error) {
		return projections.RetryDeadLetters(ctx, h.DB, name, stream)
	})
}

func (h *Handler) discard(p *page.Page) error {
	return h.letters(p, "discard dead letters", func(
		ctx context.Context, name, stream string,
	) (int, error) {
		done, err := projections.DiscardDeadLetters(ctx, h.DB, name, stream)
		return done.Discarded, err
	})
}

var errNotParked = errors.New("the projection has set aside no events of this stream")

// letters calls do for the events of a stream that a projection has set aside. If the form names no
// stream, letters refuses it, because only the command line acts on all streams at once.
func (h *Handler) letters(
	p *page.Page, action string,
	do func(ctx context.Context, name, stream string) (events int, err error),
) error {
	stream := p.Form.Get("stream")
	if err := streampages.CheckName(stream); err != nil {
		return err
	}
	return h.do(p, action, stream, func(ctx context.Context, name string) error {
		n, err := do(ctx, name, stream)
		if err == nil && n == 0 {
			err = errNotParked
		}
		return err
	})
}
