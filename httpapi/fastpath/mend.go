package fastpath

import (
	"bytes"
	"net"
	"net/http"
)

// People paste short links with text after them, sometimes with a % that begins no escape. net/http
// refuses such a path before any handler sees it, so this file mends the path first.

// Mend is an http.Server.ConnState. On a connection that was handed over, it causes the path of
// each request after the first to be mended. The fast path has mended the first one already. The
// next bytes of an idle connection begin a request, and are mended. Once a head was read, the
// connection is active, so no body is changed, even if requests are pipelined.
func Mend(conn net.Conn, state http.ConnState) {
	if handed, ok := conn.(*replayConn); ok {
		handed.begins.Store(state == http.StateIdle)
	}
}

// mended returns received bytes with a mended path in the first request line: %25 replaces each %
// that begins no escape. Nothing else changes. An incomplete request line stays unchanged.
func mended(received []byte) []byte {
	line, _, _ := bytes.Cut(received, []byte("\n"))
	target := bytes.IndexByte(line, ' ') + 1
	end := bytes.LastIndex(line, []byte(" HTTP/1."))
	if bytes.IndexByte(line, '%') < 0 || target == 0 || end <= target || line[target] != '/' {
		return received
	}
	if query := bytes.IndexByte(line[target:end], '?'); query >= 0 {
		end = target + query
	}
	whole := bytes.Clone(received[:target])
	for i := target; i < end; i++ {
		whole = append(whole, received[i])
		if received[i] == '%' && (i+2 >= end || !isHex(received[i+1]) || !isHex(received[i+2])) {
			whole = append(whole, "25"...)
		}
	}
	return append(whole, received[end:]...)
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'f'
}
