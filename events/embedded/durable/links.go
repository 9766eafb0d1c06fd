package durable

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"linkledger/events/embedded/record"
)

// Resolve returns the event that a link points to. The data of a link has the form
// "<number>@<stream>". If the data has another form, isLink is false. If the event does not exist
// or cannot be read at the time now, target is nil.
func (l *Log) Resolve(
	ctx context.Context, link *record.Event, now time.Time,
) (target *record.Event, isLink bool, err error) {
	digits, stream, ok := strings.Cut(string(link.Data), "@")
	number, parseErr := strconv.ParseInt(digits, 10, 64)
	if !ok || parseErr != nil || number < 0 || stream == "" {
		return nil, false, nil //nolint:nilerr // other data makes the event no link
	}
	st, err := l.State(ctx, stream)
	if err != nil {
		return nil, true, err
	}
	if st.Tombstoned || number > st.Last || number < st.FirstReadable() {
		return nil, true, nil
	}
	target, err = record.LoadNumber(l.db, stream, number)
	if errors.Is(err, record.ErrNoEvent) {
		return nil, true, nil
	}
	if err != nil {
		return nil, true, err
	}
	if target.Created < st.OldestReadable(now) {
		return nil, true, nil
	}
	return target, true, nil
}
