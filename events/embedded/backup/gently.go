package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"
)

const (
	chunkSize = 256 << 10
	// syncBytes is how much a copy writes between two syncs. It is small, because syncs of a store
	// on the same disk wait for all data that is not synced yet.
	syncBytes = 4 << 20
	lowest    = 19 // the lowest priority of a thread
)

// Gently runs a function on a thread of the lowest priority, so that threads that serve requests go
// first.
func Gently(run func() error) error {
	ended := make(chan error, 1)
	go func() {
		// The goroutine does not unlock the thread. So the thread ends with the goroutine, and no
		// other goroutine gets the low priority.
		runtime.LockOSThread()
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, lowest) // 0: this thread
		ended <- run()
	}()
	return <-ended
}

// digestOf returns the SHA-256 of a file in hexadecimal. It also copies the file to the file to,
// unless to is nil. After each chunk it rests for as long as the chunk has taken.
func digestOf(ctx context.Context, from io.Reader, to *os.File) (string, error) {
	digest := sha256.New()
	chunk := make([]byte, chunkSize)
	rest := time.NewTimer(0)
	defer rest.Stop()
	for unsynced := 0; ; {
		began := time.Now()
		n, err := io.ReadFull(from, chunk)
		digest.Write(chunk[:n])
		if to != nil {
			if _, err := to.Write(chunk[:n]); err != nil {
				return "", err
			}
			if unsynced += n; unsynced >= syncBytes {
				unsynced = 0
				if err := to.Sync(); err != nil {
					return "", err
				}
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return hex.EncodeToString(digest.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
		rest.Reset(time.Since(began))
		select {
		case <-rest.C:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// CopyFile copies a file to a new one and rests like digestOf. It makes the copy durable and
// returns its digest and size.
func CopyFile(ctx context.Context, from, to string) (copied File, err error) {
	source, err := os.Open(from)
	if err != nil {
		return copied, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return copied, err
	}
	copied.SHA256, err = digestOf(ctx, source, target)
	if err := errors.Join(err, target.Sync()); err != nil {
		return copied, errors.Join(err, target.Close())
	}
	info, err := target.Stat()
	if err == nil {
		copied.Name, copied.Size = info.Name(), info.Size()
	}
	return copied, errors.Join(err, target.Close())
}
