// Package request validates the requests of clients and parses them into values.
package request

import (
	"math"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"linkledger/events/embedded/dialect"
)

// Origin is the kind of place at which a read begins.
type Origin int

// The origins of a read.
const (
	FromStart Origin = iota
	FromEnd
	FromExact
)

// Read is a validated ReadReq.
type Read struct {
	Stream       string // empty for $all
	Backwards    bool
	Subscribe    bool
	Count        uint64 // events; unused in subscriptions
	From         Origin
	At           uint64 // revision or position; set if From is FromExact
	Filter       *Filter
	ResolveLinks bool
	StringIDs    bool
	noIDs        bool // the request names no form of ids, so ids are sent structured
	Bounds       bool // the client understands first and last stream positions
}

// ParseRead parses the options of a read or a subscription.
func ParseRead(opts *streams.ReadReq_Options) (*Read, error) {
	q := &Read{
		Backwards:    opts.GetReadDirection() == streams.ReadReq_Options_Backwards,
		ResolveLinks: opts.GetResolveLinks(),
		Bounds:       opts.GetControlOption().GetCompatibility() >= 1,
	}
	_, q.StringIDs = opts.GetUuidOption().GetContent().(*streams.ReadReq_Options_UUIDOption_String_)
	q.noIDs = opts.GetUuidOption().GetContent() == nil
	switch n := opts.GetCountOption().(type) {
	case *streams.ReadReq_Options_Count:
		q.Count = n.Count
	case *streams.ReadReq_Options_Subscription:
		q.Subscribe = true
	default:
		return nil, dialect.Invalid("a read needs a count or a subscription option")
	}
	if q.Subscribe && q.Backwards {
		return nil, dialect.Invalid("a subscription cannot go backwards")
	}
	if err := q.parseSource(opts); err != nil {
		return nil, err
	}
	switch f := opts.GetFilterOption().(type) {
	case *streams.ReadReq_Options_NoFilter:
	case *streams.ReadReq_Options_Filter:
		if q.Stream != "" {
			return nil, dialect.Invalid("only $all can be filtered")
		}
		var err error
		if q.Filter, err = parseFilter(f.Filter); err != nil {
			return nil, err
		}
	default:
		return nil, dialect.Invalid("a read needs a filter or a no-filter option")
	}
	return q, nil
}

func (q *Read) parseSource(opts *streams.ReadReq_Options) (err error) {
	switch src := opts.GetStreamOption().(type) {
	case *streams.ReadReq_Options_Stream:
		if q.Stream, err = streamName(src.Stream.GetStreamIdentifier()); err != nil {
			return err
		}
		return q.parseRevision(src.Stream)
	case *streams.ReadReq_Options_All:
		return q.parsePosition(src.All)
	}
	return dialect.Invalid("a read must name a stream or $all")
}

func (q *Read) parseRevision(opts *streams.ReadReq_Options_StreamOptions) error {
	switch r := opts.GetRevisionOption().(type) {
	case *streams.ReadReq_Options_StreamOptions_Start:
		q.From = FromStart
	case *streams.ReadReq_Options_StreamOptions_End:
		q.From = FromEnd
	case *streams.ReadReq_Options_StreamOptions_Revision:
		q.From, q.At = FromExact, r.Revision
		if q.At == math.MaxUint64 {
			q.From = FromEnd
		} else if q.At > math.MaxInt64 {
			return dialect.Refuse(dialect.FaultRevision, "the revision is out of range")
		}
	default:
		return dialect.Malformed("the revision to read from is missing")
	}
	return nil
}

func (q *Read) parsePosition(opts *streams.ReadReq_Options_AllOptions) error {
	switch p := opts.GetAllOption().(type) {
	case *streams.ReadReq_Options_AllOptions_Start:
		q.From = FromStart
	case *streams.ReadReq_Options_AllOptions_End:
		q.From = FromEnd
	case *streams.ReadReq_Options_AllOptions_Position:
		commit, prepare := p.Position.GetCommitPosition(), p.Position.GetPreparePosition()
		q.From, q.At = FromExact, commit
		if commit == math.MaxUint64 && prepare == math.MaxUint64 {
			q.From = FromEnd
		} else if commit < prepare || commit > math.MaxInt64 {
			return dialect.Malformed("the position is out of range")
		}
	default:
		return dialect.Malformed("the position to read from is missing")
	}
	return nil
}

// CheckDialect returns an error if the server of the dialect refuses the read although this
// store accepts it.
func (q *Read) CheckDialect(a dialect.Dialect) error {
	if a == nil {
		return nil
	}
	switch {
	case q.noIDs:
		return dialect.Refuse(dialect.FaultIDs, "a read must name the form of its ids")
	case q.Subscribe:
	case q.Count == 0 && q.Stream == "":
		return dialect.Refuse(dialect.FaultCount, "a read of no events")
	case q.Stream != "" && (q.Count == 0 || q.From == FromEnd && !q.Backwards):
		return dialect.Refuse(dialect.FaultRevision, "a read of no events")
	}
	return nil
}
