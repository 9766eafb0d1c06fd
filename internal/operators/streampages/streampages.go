// Package streampages serves the pages of the stored events: a stream, and an event with the
// projections that follow it. It MUST NOT change anything.
package streampages

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"linkledger/events/eventstore"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/pager"
	"linkledger/projections"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
	"linkledger/queries"
)

// Pages serves the pages. It is safe for concurrent use.
type Pages struct {
	db       *readmodel.DB
	store    *eventstore.Store
	patience time.Duration
	path     string
}

// New returns the pages at a path of the console. A page waits for the event store for at most
// patience.
func New(
	db *readmodel.DB, store *eventstore.Store, patience time.Duration, path string,
) *Pages {
	return &Pages{db, store, patience, path}
}

// streamData is what the page of a stream shows.
type streamData struct {
	Stream string // empty: none is asked for
	Events []stored
	Pager  pager.Pager // by revisions
}

// stored is a stored event as the page shows it.
type stored struct {
	Stream   string
	Revision eventstore.Revision
	Position string
	ID, Type string
	Time     time.Time
	Path     string // of its page
	Data     string
	Metadata string
}

func (h *Pages) stored(r eventstore.Recorded) stored {
	query := url.Values{
		"stream": {r.Stream}, "revision": {strconv.FormatInt(int64(r.Revision), 10)},
	}
	return stored{
		Stream: r.Stream, Revision: r.Revision, Position: r.Position.String(),
		ID: r.ID.String(), Type: r.Type, Time: r.Time,
		Path: h.path + "/event?" + query.Encode(),
		Data: readable(r.Data), Metadata: readable(r.Metadata),
	}
}

// maxText is how many bytes of a body a page shows at most.
const maxText = 8 << 10

// readable returns the body of an event for people. It indents JSON, quotes a body that is not
// UTF-8 as Go does, and cuts a long text.
func readable(body []byte) string {
	var decoded any
	text := string(body)
	if err := json.Unmarshal(body, &decoded); err == nil {
		if indented, err := json.MarshalIndent(decoded, "", "  "); err == nil {
			text = string(indented)
		}
	} else if !utf8.Valid(body) {
		text = strconv.Quote(text)
	}
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "\n… " + strconv.Itoa(len(body)) + " bytes"
	}
	return text
}

// Stream shows the events of a stream.
func (h *Pages) Stream(p *page.Page) error {
	p.Title = "Events"
	name := strings.TrimSpace(p.Query().Get("stream"))
	data := streamData{Stream: name}
	p.Data = data
	if name == "" {
		return nil
	}
	from, err := revisionOf(p.Query().Get("from"))
	if err != nil {
		return err
	}
	// load reads one more event than the page shows, to find out whether there are more.
	found, err := h.load(p, name, from, pager.Size+1)
	if err != nil {
		return err
	}
	at := func(revision eventstore.Revision) string {
		query := url.Values{"stream": {name}, "from": {strconv.FormatInt(int64(revision), 10)}}
		return h.path + "?" + query.Encode()
	}
	if from > 0 {
		data.Pager.Previous = at(max(0, from-pager.Size))
	}
	if len(found) > pager.Size {
		data.Pager.Following = at(found[pager.Size].Revision)
		found = found[:pager.Size]
	}
	for _, r := range found {
		data.Events = append(data.Events, h.stored(r))
	}
	if len(found) > 0 {
		data.Pager.First = int(found[0].Revision)
		data.Pager.Last = int(found[len(found)-1].Revision)
	}
	p.Data = data
	return nil
}

// CheckName refuses what is not the name of a stream of the service.
func CheckName(name string) error {
	if name == "" || len(name) > maxStreamName || strings.HasPrefix(name, "$") ||
		!queries.Storable(name) {
		return apierror.WrongInput("This is not the name of a stream of the service")
	}
	return nil
}

// load reads events of a stream. It refuses a stream that is not one of the service.
func (h *Pages) load(
	p *page.Page, stream string, from eventstore.Revision, limit uint64,
) ([]eventstore.Recorded, error) {
	if err := CheckName(stream); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(p.C.Context(), h.patience)
	defer cancel()
	found, err := h.store.Page(ctx, stream, from, limit)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	return found, nil
}

// maxStreamName is the longest name of a stream, in bytes.
const maxStreamName = 512

func revisionOf(text string) (eventstore.Revision, error) {
	if text == "" {
		return 0, nil
	}
	revision, err := strconv.ParseInt(text, 10, 64)
	if err != nil || revision < 0 {
		return 0, apierror.WrongInput("A revision is a number from 0 on")
	}
	return eventstore.Revision(revision), nil
}

// eventData is what the page of an event shows.
type eventData struct {
	stored

	Batch     string
	Followers []follower
}

// follower is a projection that follows an event.
type follower struct {
	Name, State string
}

// Event shows an event, and which projections have applied it.
func (h *Pages) Event(p *page.Page) error {
	stream := p.Query().Get("stream")
	revision, err := revisionOf(p.Query().Get("revision"))
	if err != nil {
		return err
	}
	found, err := h.load(p, stream, revision, 1)
	if err != nil {
		return err
	}
	if len(found) == 0 || found[0].Revision != revision {
		return &apierror.Error{
			Code: apierror.CodeInvalidResource, Details: "The stream has no event of that revision",
		}
	}
	e := found[0]
	data := eventData{stored: h.stored(e)}
	var metadata struct {
		Batch string `json:"batch"`
	}
	if err := json.Unmarshal(e.Metadata, &metadata); err == nil { // else there is no batch to show
		data.Batch = metadata.Batch
	}
	p.Title = fmt.Sprintf("Event %d of %s", e.Revision, e.Stream)
	if data.Followers, err = h.followers(p.C.Context(), e); err != nil {
		return err
	}
	p.Data = data
	return nil
}

// followers returns the projections that follow an event, and whether each has applied it.
func (h *Pages) followers(
	ctx context.Context, e eventstore.Recorded,
) (all []follower, err error) {
	generations, err := status.Generations(ctx, h.db)
	if err != nil {
		return nil, err
	}
	at := make(map[string]status.Overview)
	for _, g := range generations {
		if g.Serving {
			at[g.Name] = g
		}
	}
	letters, err := deadletter.Of(ctx, h.db, e.ID)
	if err != nil {
		return nil, err
	}
	parked := make(map[string]string)
	for _, l := range letters {
		parked[l.Name] = l.Error
	}
	discarded, err := projections.DiscardedEvents(ctx, h.db, "")
	if err != nil {
		return nil, err
	}
	for _, name := range projections.Followers(e) {
		f := follower{Name: name, State: "applied"}
		if slices.ContainsFunc(discarded, func(d deadletter.DiscardedEvent) bool {
			return d.Projection == name && d.Stream == e.Stream && d.Revision == int64(e.Revision)
		}) {
			f.State = "discarded by an operator"
		} else if cause, ok := parked[name]; ok {
			f.State = "set aside: " + cause
		} else if e.Position.After(at[name].Position) {
			f.State = "not applied yet"
		}
		all = append(all, f)
	}
	return all, nil
}
