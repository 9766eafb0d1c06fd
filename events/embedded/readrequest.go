package embedded

import (
	"math"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
)

// origin is where a read begins.
type origin int

const (
	fromStart origin = iota
	fromEnd
	fromExact
)

// readRequest is a checked ReadReq.
type readRequest struct {
	stream       string // empty for $all
	backwards    bool
	subscribe    bool
	count        uint64 // events; not for subscriptions
	from         origin
	at           uint64 // revision or position, with fromExact
	filter       *filter
	resolveLinks bool
	stringIDs    bool
	noIDs        bool // no form of ids was named; the structured one is sent
	bounds       bool // the client understands first and last stream positions
}

func parseRead(opts *streams.ReadReq_Options) (*readRequest, error) {
	q := &readRequest{
		backwards:    opts.GetReadDirection() == streams.ReadReq_Options_Backwards,
		resolveLinks: opts.GetResolveLinks(),
		bounds:       opts.GetControlOption().GetCompatibility() >= 1,
	}
	_, q.stringIDs = opts.GetUuidOption().GetContent().(*streams.ReadReq_Options_UUIDOption_String_)
	q.noIDs = opts.GetUuidOption().GetContent() == nil
	switch n := opts.GetCountOption().(type) {
	case *streams.ReadReq_Options_Count:
		q.count = n.Count
	case *streams.ReadReq_Options_Subscription:
		q.subscribe = true
	default:
		return nil, invalid("a read has a count or is a subscription")
	}
	if q.subscribe && q.backwards {
		return nil, invalid("a subscription cannot go backwards")
	}
	if err := q.parseSource(opts); err != nil {
		return nil, err
	}
	switch f := opts.GetFilterOption().(type) {
	case *streams.ReadReq_Options_NoFilter:
	case *streams.ReadReq_Options_Filter:
		if q.stream != "" {
			return nil, invalid("only $all can be filtered")
		}
		var err error
		if q.filter, err = parseFilter(f.Filter); err != nil {
			return nil, err
		}
	default:
		return nil, invalid("a read has a filter or none")
	}
	return q, nil
}

func (q *readRequest) parseSource(opts *streams.ReadReq_Options) (err error) {
	switch src := opts.GetStreamOption().(type) {
	case *streams.ReadReq_Options_Stream:
		if q.stream, err = streamName(src.Stream.GetStreamIdentifier()); err != nil {
			return err
		}
		return q.parseRevision(src.Stream)
	case *streams.ReadReq_Options_All:
		return q.parsePosition(src.All)
	}
	return invalid("a read names a stream or $all")
}

func (q *readRequest) parseRevision(opts *streams.ReadReq_Options_StreamOptions) error {
	switch r := opts.GetRevisionOption().(type) {
	case *streams.ReadReq_Options_StreamOptions_Start:
		q.from = fromStart
	case *streams.ReadReq_Options_StreamOptions_End:
		q.from = fromEnd
	case *streams.ReadReq_Options_StreamOptions_Revision:
		q.from, q.at = fromExact, r.Revision
		if q.at == math.MaxUint64 {
			q.from = fromEnd
		} else if q.at > math.MaxInt64 {
			return &faulty{faultRevision, "the revision is out of range"}
		}
	default:
		return malformed("the revision to read from is missing")
	}
	return nil
}

func (q *readRequest) parsePosition(opts *streams.ReadReq_Options_AllOptions) error {
	switch p := opts.GetAllOption().(type) {
	case *streams.ReadReq_Options_AllOptions_Start:
		q.from = fromStart
	case *streams.ReadReq_Options_AllOptions_End:
		q.from = fromEnd
	case *streams.ReadReq_Options_AllOptions_Position:
		commit, prepare := p.Position.GetCommitPosition(), p.Position.GetPreparePosition()
		q.from, q.at = fromExact, commit
		if commit == math.MaxUint64 && prepare == math.MaxUint64 {
			q.from = fromEnd
		} else if commit < prepare || commit > math.MaxInt64 {
			return malformed("the position is out of range")
		}
	default:
		return malformed("the position to read from is missing")
	}
	return nil
}

// checkPosition refuses a position inside a record, which is always a mistake
// of the caller: to go on after an event means to pass its own position, not
// the one plus one. Positions beyond the end are fine.
func (s *Store) checkPosition(q *readRequest) error {
	if q.from != fromExact || q.at == 0 || q.at > s.tail.head.Load() {
		return nil
	}
	_, closer, err := s.db.Get(eventKey(q.at))
	if err != nil {
		return noEventAt(q.at, err)
	}
	return closer.Close()
}
