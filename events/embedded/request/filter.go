package request

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"linkledger/events/embedded/dialect"
	"linkledger/events/embedded/record"
)

// Limits and defaults of a filter.
const (
	MaxRegexLen   = 4 << 10
	MaxPrefixes   = 1024
	defaultWindow = 32
)

// Filter selects events of $all by stream name or by type.
type Filter struct {
	byType   bool
	regex    *regexp.Regexp // if nil, prefixes select
	prefixes []string
	Interval uint64 // examined events between two checkpoints
}

func parseFilter(opts *streams.ReadReq_Options_FilterOptions) (*Filter, error) {
	f := &Filter{}
	var expr *streams.ReadReq_Options_FilterOptions_Expression
	switch by := opts.GetFilter().(type) {
	case *streams.ReadReq_Options_FilterOptions_StreamIdentifier:
		expr = by.StreamIdentifier
	case *streams.ReadReq_Options_FilterOptions_EventType:
		expr, f.byType = by.EventType, true
	default:
		return nil, dialect.Invalid("the filter names neither stream nor event type")
	}
	window := uint64(defaultWindow)
	switch w := opts.GetWindow().(type) {
	case *streams.ReadReq_Options_FilterOptions_Max:
		window = uint64(w.Max)
	case *streams.ReadReq_Options_FilterOptions_Count:
	default:
		return nil, dialect.Invalid("the filter has no window")
	}
	f.Interval = window * uint64(opts.GetCheckpointIntervalMultiplier())
	switch {
	case window == 0:
		return nil, dialect.Refuse(dialect.FaultWindow, "the window of a filter must be at least 1")
	case f.Interval == 0:
		return nil, dialect.Malformed("the checkpoint interval of a filter must be at least 1")
	}
	return f, f.parseExpression(expr)
}

func (f *Filter) parseExpression(
	expr *streams.ReadReq_Options_FilterOptions_Expression,
) (err error) {
	if pattern := expr.GetRegex(); pattern != "" {
		if len(pattern) > MaxRegexLen {
			return dialect.Invalid(
				fmt.Sprintf("the filter's pattern is longer than %d bytes", MaxRegexLen),
			)
		}
		if f.regex, err = regexp.Compile(pattern); err != nil {
			return dialect.Malformed(fmt.Sprintf("the filter's pattern is not supported: %v", err))
		}
		return nil
	}
	if len(expr.GetPrefix()) > MaxPrefixes {
		return dialect.Invalid(fmt.Sprintf("the filter has more than %d prefixes", MaxPrefixes))
	}
	for _, prefix := range expr.GetPrefix() {
		if len(prefix) > MaxStreamName {
			return dialect.Invalid(
				fmt.Sprintf("a prefix of the filter is longer than %d bytes", MaxStreamName),
			)
		}
	}
	f.prefixes = slices.Clone(expr.GetPrefix())
	return nil
}

// Match reports whether the filter selects the event. A nil filter selects every event.
func (f *Filter) Match(r *record.Event) bool {
	if f == nil {
		return true
	}
	subject := r.Stream
	if f.byType {
		subject = r.Type
	}
	if f.regex != nil {
		return f.regex.MatchString(subject)
	}
	return slices.ContainsFunc(
		f.prefixes, func(p string) bool { return strings.HasPrefix(subject, p) },
	)
}
