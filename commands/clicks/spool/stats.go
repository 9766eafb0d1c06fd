package spool

import "time"

// Stats describes the records in the queue.
type Stats struct {
	Records int
	Items   int   // that the records stand for
	Bytes   int64 // of all segments, on the disk
	// Oldest is the time of the oldest record, or of the record that was removed last. Zero: the
	// queue is empty.
	Oldest time.Time
}

// Stats returns the state of the queue.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := Stats{Bytes: s.bytes, Records: -s.removed.records, Items: -s.removed.Items}
	for _, segment := range s.segments {
		stats.Records += segment.records
		stats.Items += segment.items
	}
	if stats.Records > 0 {
		stats.Oldest = s.segments[0].first
		if s.removed.records > 0 {
			stats.Oldest = s.removed.last
		}
	}
	return stats
}
