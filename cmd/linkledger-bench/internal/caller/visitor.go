package caller

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Visitors are connections to one server that speak just enough HTTP, so that most of the machine
// is left to the server.
type Visitors struct {
	host     string
	hashes   []string
	all      []*visitor
	Answered atomic.Int64
}

type visitor struct {
	net.Conn
	answers *bufio.Reader
	request []byte
	visits  int
}

// DialVisitors opens the connections of number visitors, one each. The visitors follow the links
// with the hashes.
func DialVisitors(
	ctx context.Context, base string, hashes []string, number int,
) (*Visitors, error) {
	v := &Visitors{host: strings.TrimPrefix(base, "http://"), hashes: hashes}
	var dialer net.Dialer
	for range number {
		connection, err := dialer.DialContext(ctx, "tcp", v.host)
		if err != nil {
			return nil, errors.Join(err, v.Close())
		}
		v.all = append(v.all, &visitor{Conn: connection, answers: bufio.NewReader(connection)})
	}
	return v, nil
}

// Close closes the connections.
func (v *Visitors) Close() (err error) {
	for _, one := range v.all {
		err = errors.Join(err, one.Close())
	}
	return err
}

// VisitAll follows every link at least once, so that the server has them in memory.
func (v *Visitors) VisitAll(ctx context.Context) error {
	all, ctx := errgroup.WithContext(ctx)
	for worker := range v.all {
		all.Go(func() error {
			for range len(v.hashes)/len(v.all) + 1 {
				if err := errors.Join(ctx.Err(), v.Visit(ctx, worker)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// Visit follows one of the links. Over time it follows each link as often as the others.
func (v *Visitors) Visit(_ context.Context, worker int) error {
	one := v.all[worker]
	one.visits++
	hash := v.hashes[(one.visits*len(v.all)+worker)*7919%len(v.hashes)]
	one.request = fmt.Appendf(
		one.request[:0], "GET /%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: Lynx/2.9 %d\r\n\r\n", hash,
		v.host, worker,
	)
	if err := one.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	if _, err := one.Write(one.request); err != nil {
		return err
	}
	if err := readRedirect(one.answers); err != nil {
		return err
	}
	v.Answered.Add(1)
	return nil
}

// readRedirect reads a response without a body. It returns an error unless the status is 302.
func readRedirect(answers *bufio.Reader) error {
	status, err := answers.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 302 ")) {
		return fmt.Errorf("answered %q", status)
	}
	for {
		line, err := answers.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			return nil
		}
	}
}
