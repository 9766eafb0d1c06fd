package daemon

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// disk is a file that can be full. It takes the first bytes of a text until then.
type disk struct {
	mu    sync.Mutex
	room  int // bytes; negative: any number
	taken strings.Builder
	tried chan struct{} // gets a value for each write
}

func (d *disk) Write(text []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer func() { d.tried <- struct{}{} }()
	if d.room < 0 {
		return d.taken.Write(text)
	}
	n := min(d.room, len(text))
	d.taken.Write(text[:n])
	d.room -= n
	if n < len(text) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func (d *disk) setRoom(room int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = room
}

// TestOutputOnFullDisk lets a disk be full in the middle of a line and have room again.
func TestOutputOnFullDisk(t *testing.T) {
	t.Parallel()
	d := &disk{room: 8, tried: make(chan struct{}, 10)}
	o := NewOutput(d)
	write := func(line string) {
		if n, err := o.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatalf("%q: %d, %v", line, n, err)
		}
		<-d.tried
	}
	write("first\n")
	write("second\n")
	write("third\n")
	d.setRoom(-1)
	write("fourth\n")
	o.Close()
	if got, want := d.taken.String(), "first\nse\nfourth\n"; got != want {
		t.Errorf("written %q, want %q", got, want)
	}
	if o.Lost() != 2 {
		t.Errorf("%d lost, want 2", o.Lost())
	}
}

// TestOutputThatNobodyReads writes more than a pipe and the queue take. No write waits.
func TestOutputThatNobodyReads(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := NewOutput(writer)
	line := []byte(strings.Repeat("x", 99) + "\n")
	const lines = 3 * queued
	for range lines {
		if _, err := o.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	o.Close() // gives up
	if lost := o.Lost(); lost == 0 || lost >= lines {
		t.Errorf("%d of %d lines lost", lost, lines)
	}
	if err := errors.Join(reader.Close(), writer.Close()); err != nil {
		t.Fatal(err)
	}
	<-o.written
	if o.Lost() < 2*queued {
		t.Errorf("%d lines lost, but nobody has read any", o.Lost())
	}
	if _, err := o.Write(line); err != nil {
		t.Errorf("after Close: %v", err)
	}
}
