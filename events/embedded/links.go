package embedded

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// resolveLink finds the event that a link points to, written as
// "<number>@<stream>". Anything else in its data makes it no link. The target
// is nil when it cannot be read any more.
func (s *Store) resolveLink(ctx context.Context, link *record) (target *record, isLink bool, err error) {
	digits, stream, ok := strings.Cut(string(link.data), "@")
	number, parseErr := strconv.ParseInt(digits, 10, 64)
	if !ok || parseErr != nil || number < 0 || stream == "" {
		return nil, false, nil
	}
	st, err := s.durableState(ctx, stream)
	if err != nil {
		return nil, true, err
	}
	if st.tombstoned || number > st.last || number < st.firstReadable() {
		return nil, true, nil
	}
	target, err = loadNumber(s.db, stream, number)
	if errors.Is(err, errNoEvent) {
		return nil, true, nil
	}
	if err != nil {
		return nil, true, err
	}
	if target.created < st.oldestReadable(s.cfg.now()) {
		return nil, true, nil
	}
	return target, true, nil
}
