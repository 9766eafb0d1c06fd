package daemon

import (
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// queued is how many writes an Output keeps while its file takes none.
	queued = 4096
	// closeTimeout bounds how long Close waits for a file that takes no writes.
	closeTimeout = time.Second
)

// Output is an output of a service, such as its log. Its writes never fail and never wait: a
// goroutine writes them from a queue. Output drops and counts a write if its file has no reader,
// the disk is full or the queue is full. It is safe for concurrent use.
type Output struct {
	to      io.Writer
	lost    atomic.Uint64
	written chan struct{} // closed when everything is written after Close

	mu     sync.Mutex
	closed bool
	queue  chan []byte
}

// NewOutput returns an output that writes to a file. The caller MUST close it.
func NewOutput(to io.Writer) *Output {
	o := &Output{to: to, written: make(chan struct{}), queue: make(chan []byte, queued)}
	go o.run()
	return o
}

// Write queues a text. It returns no error.
func (o *Output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		select {
		case o.queue <- append([]byte(nil), text...):
			return len(text), nil
		default: // the file takes no writes
		}
	}
	o.lost.Add(1)
	return len(text), nil
}

// Lost returns how many writes could not be done.
func (o *Output) Lost() uint64 { return o.lost.Load() }

// Unwrap returns the file that the output writes to.
func (o *Output) Unwrap() io.Writer { return o.to }

// Close writes what is queued. It gives up after a second if the file takes no writes.
func (o *Output) Close() {
	o.mu.Lock()
	if !o.closed {
		o.closed = true
		close(o.queue)
	}
	o.mu.Unlock()
	select {
	case <-o.written:
	case <-time.After(closeTimeout):
	}
}

func (o *Output) run() {
	defer close(o.written)
	torn := false // the last write ended in the middle of a line
	for text := range o.queue {
		if torn {
			text = append([]byte{'\n'}, text...)
		}
		n, err := o.to.Write(text)
		if err != nil {
			o.lost.Add(1)
		}
		if n > 0 {
			torn = text[n-1] != '\n' && err != nil
		}
	}
}
