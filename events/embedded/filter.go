package embedded

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	maxRegexLen   = 4 << 10
	maxPrefixes   = 1024
	defaultWindow = 32
)

// filter selects events of $all by stream name or by type.
type filter struct {
	byType   bool
	regex    *regexp.Regexp // nil: prefixes count
	prefixes []string
	interval uint64 // considered events between two checkpoints
}

func parseFilter(opts *streams.ReadReq_Options_FilterOptions) (*filter, error) {
	f := &filter{}
	var expr *streams.ReadReq_Options_FilterOptions_Expression
	switch by := opts.GetFilter().(type) {
	case *streams.ReadReq_Options_FilterOptions_StreamIdentifier:
		expr = by.StreamIdentifier
	case *streams.ReadReq_Options_FilterOptions_EventType:
		expr, f.byType = by.EventType, true
	default:
		return nil, invalid("the filter names neither stream nor event type")
	}
	window := uint64(defaultWindow)
	switch w := opts.GetWindow().(type) {
	case *streams.ReadReq_Options_FilterOptions_Max:
		window = uint64(w.Max)
	case *streams.ReadReq_Options_FilterOptions_Count:
	default:
		return nil, invalid("the filter has no window")
	}
	f.interval = window * uint64(opts.GetCheckpointIntervalMultiplier())
	switch {
	case window == 0:
		return nil, &faulty{faultWindow, "the window of a filter must be at least 1"}
	case f.interval == 0:
		return nil, malformed("the checkpoint interval of a filter must be at least 1")
	}
	return f, f.parseExpression(expr)
}

func (f *filter) parseExpression(expr *streams.ReadReq_Options_FilterOptions_Expression) (err error) {
	if pattern := expr.GetRegex(); pattern != "" {
		if len(pattern) > maxRegexLen {
			return invalid(fmt.Sprintf("the filter's pattern is longer than %d bytes", maxRegexLen))
		}
		if f.regex, err = regexp.Compile(pattern); err != nil {
			return malformed(fmt.Sprintf("the filter's pattern is not supported: %v", err))
		}
		return nil
	}
	if len(expr.GetPrefix()) > maxPrefixes {
		return invalid(fmt.Sprintf("the filter has more than %d prefixes", maxPrefixes))
	}
	for _, prefix := range expr.GetPrefix() {
		if len(prefix) > maxStreamName {
			return invalid(fmt.Sprintf("a prefix of the filter is longer than %d bytes", maxStreamName))
		}
	}
	f.prefixes = slices.Clone(expr.GetPrefix())
	return nil
}

// match tells whether the filter lets the event through. A nil filter does.
func (f *filter) match(r *record) bool {
	if f == nil {
		return true
	}
	subject := r.stream
	if f.byType {
		subject = r.kind
	}
	if f.regex != nil {
		return f.regex.MatchString(subject)
	}
	return slices.ContainsFunc(f.prefixes, func(p string) bool { return strings.HasPrefix(subject, p) })
}

func invalid(message string) error { return status.Error(codes.InvalidArgument, message) }
