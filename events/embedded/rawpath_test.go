package embedded_test

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"linkledger/events/embedded"
	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/servertest"
	"linkledger/internal/soak"
)

// answer is the response to a raw call. status is empty if the server ended the stream or the
// connection without a response.
type answer struct {
	status  string // gRPC status
	message string
	data    int // bytes
}

// rawCall makes a gRPC call without a client, so that path and headers are sent unchanged. A header
// is a name and a value.
func rawCall(t *testing.T, addr, path string, body []byte, headers ...[2]string) answer {
	t.Helper()
	return rawSend(t, addr, path, body, true, headers...)
}

// maxFrame is the frame size that every HTTP/2 server accepts.
const maxFrame = 16 << 10

// rawSend is rawCall. If end is false, it leaves the request unfinished.
func rawSend(t *testing.T, addr, path string, body []byte, end bool, headers ...[2]string) answer {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}
	conn, err := dialer.DialContext(servertest.Context(t), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(servertest.Timeout)); err != nil {
		t.Fatal(err)
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, h := range append([][2]string{
		{":method", "POST"},
		{":scheme", "https"},
		{":path", path},
		{":authority", addr},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	}, headers...) {
		if err := encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			t.Fatal(err)
		}
	}
	var sent bytes.Buffer
	sent.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&sent, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	first := block.Next(maxFrame)
	err = errors.Join(framer.WriteSettings(),
		framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: first, EndHeaders: block.Len() == 0}))
	for block.Len() > 0 {
		more := block.Next(maxFrame)
		err = errors.Join(err, framer.WriteContinuation(1, block.Len() == 0, more))
	}
	if err := errors.Join(err, framer.WriteData(1, end, body)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(sent.Bytes()); err != nil {
		t.Fatal(err)
	}
	return readAnswer(t, framer, conn)
}

func readAnswer(t *testing.T, framer *http2.Framer, conn net.Conn) (a answer) {
	t.Helper()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
				t.Fatal("no answer in time")
			}
			return a // the server ended the connection
		}
		ended := false
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_, _ = conn.Write([]byte{0, 0, 0, byte(http2.FrameSettings), byte(http2.FlagSettingsAck), 0, 0, 0, 0})
			}
		case *http2.MetaHeadersFrame:
			for _, field := range frame.Fields {
				switch field.Name {
				case "grpc-status":
					a.status = field.Value
				case "grpc-message":
					a.message = field.Value
				}
			}
			ended = frame.StreamEnded()
		case *http2.DataFrame:
			a.data += len(frame.Data())
			ended = frame.StreamEnded()
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			ended = true
		}
		if ended {
			return a
		}
	}
}

// framed returns a gRPC body of uncompressed messages.
func framed(t *testing.T, messages ...proto.Message) []byte {
	t.Helper()
	var body []byte
	for _, m := range messages {
		wire, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		body = append(body, 0)
		body = binary.BigEndian.AppendUint32(body, uint32(len(wire)))
		body = append(body, wire...)
	}
	return body
}

func identifier(stream string) *shared.StreamIdentifier {
	return &shared.StreamIdentifier{StreamName: []byte(stream)}
}

// rawRequests are bodies of requests that the store executes if the call is authenticated.
func rawRequests(t *testing.T) map[string][]byte {
	t.Helper()
	return map[string][]byte{
		"Read": framed(t, &streams.ReadReq{Options: &streams.ReadReq_Options{
			StreamOption: &streams.ReadReq_Options_All{All: &streams.ReadReq_Options_AllOptions{
				AllOption: &streams.ReadReq_Options_AllOptions_Start{Start: &shared.Empty{}},
			}},
			CountOption:  &streams.ReadReq_Options_Count{Count: 10},
			FilterOption: &streams.ReadReq_Options_NoFilter{NoFilter: &shared.Empty{}},
			UuidOption: &streams.ReadReq_Options_UUIDOption{
				Content: &streams.ReadReq_Options_UUIDOption_String_{String_: &shared.Empty{}},
			},
		}}),
		"Append": framed(t,
			&streams.AppendReq{Content: &streams.AppendReq_Options_{Options: &streams.AppendReq_Options{
				StreamIdentifier:       identifier("account-victim"),
				ExpectedStreamRevision: &streams.AppendReq_Options_Any{Any: &shared.Empty{}},
			}}},
			&streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{ProposedMessage: &streams.AppendReq_ProposedMessage{
				Id:       &shared.UUID{Value: &shared.UUID_String_{String_: "9f2b8a53-4a5b-4d5f-9a92-111111111111"}},
				Metadata: map[string]string{"type": "taken.over.v1", "content-type": "application/json"},
				Data:     []byte("{}"),
			}}}),
		"Delete": framed(t, &streams.DeleteReq{Options: &streams.DeleteReq_Options{
			StreamIdentifier:       identifier("victim"),
			ExpectedStreamRevision: &streams.DeleteReq_Options_Any{Any: &shared.Empty{}},
		}}),
	}
}

// TestOddPathsAreRefused checks that no spelling of a path reaches a handler without the right
// credentials.
func TestOddPathsAreRefused(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	s := servertest.Open(t, func(c *embedded.Config) { c.TLS, c.User, c.Password = servertest.TLS(t), "linker", "secret" })
	login := [2]string{"authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("linker:secret"))}
	wrong := [2]string{"authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("linker:guess"))}
	c := servertest.DialURL(t, "esdb://linker:secret@"+s.Addr+"?tls=true&tlsVerifyCert=false")
	servertest.Append(t, c, "victim", esdb.Any{}, "a")
	before := s.Stat()

	requests := rawRequests(t)
	for method, body := range requests {
		for name, path := range embeddedtest.OddPaths(method) {
			if got := rawCall(t, s.Addr, path, body); got.status == "0" || got.data > 0 {
				t.Errorf("%s, %s: %+v", method, name, got)
			}
		}
		path := "event_store.client.streams.Streams/" + method
		for _, header := range [][2]string{wrong, {"authorization", ""}, {"authorization", login[1][len("Basic "):]}} {
			for _, path := range []string{"/" + path, path} {
				if got := rawCall(t, s.Addr, path, body, header); got.status == "0" || got.data > 0 {
					t.Errorf("%s with %q: %+v", path, header[1], got)
				}
			}
		}
	}
	if after := s.Stat(); after.Events != before.Events || after.Head != before.Head {
		t.Errorf("something was written: %+v, before %+v", after, before)
	}
	// Unknown methods are refused like known ones.
	known := rawCall(t, s.Addr, streams.Streams_Read_FullMethodName, requests["Read"])
	for _, path := range []string{
		"/event_store.client.streams.Streams/Scavenge", "/nothing/Read", "/event_store.client.users.Users/Create",
	} {
		if got := rawCall(t, s.Addr, path, nil); got != known || got.status != strconv.Itoa(int(codes.Unauthenticated)) {
			t.Errorf("%s: %+v, want %+v", path, got, known)
		}
	}
	// With the credentials each request is executed, which shows that their absence caused the
	// refusals above.
	for method, body := range requests {
		if got := rawCall(t, s.Addr, "/event_store.client.streams.Streams/"+method, body, login); got.status != "0" ||
			got.data == 0 {
			t.Errorf("%s with credentials: %+v", method, got)
		}
		// A path without a slash returns no data, although one right header of two is enough.
		if got := rawCall(t, s.Addr, "event_store.client.streams.Streams/"+method, body, wrong, login); got.data > 0 {
			t.Errorf("%s with credentials, but no slash: %+v", method, got)
		}
	}
}

// TestStrangersRequestsAreNotRead checks that calls without credentials are answered before their
// message is read, so that they cannot use memory.
func TestStrangersRequestsAreNotRead(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t, func(c *embedded.Config) { c.TLS, c.User, c.Password = servertest.TLS(t), "linker", "secret" })
	for path, want := range map[string]codes.Code{
		streams.Streams_Delete_FullMethodName:                                       codes.Unauthenticated,
		streams.Streams_BatchAppend_FullMethodName:                                  codes.Unauthenticated,
		"/event_store.client.gossip.Gossip/Read":                                    codes.OK,
		"/event_store.client.server_features.ServerFeatures/GetSupportedMethods":    codes.OK,
		"/event_store.client.persistent_subscriptions.PersistentSubscriptions/Read": codes.Unauthenticated,
	} {
		// The first bytes of a message of 16 MB. The rest is never sent.
		if got := rawSend(
			t, s.Addr, path, []byte{0, 0, 0xff, 0, 0, 1, 2, 3}, false,
		); got.status != strconv.Itoa(int(want)) {
			t.Errorf("%s: %+v, want %s", path, got, want)
		}
	}
	huge := [2]string{"x-huge", strings.Repeat("x", (64 << 10))}
	if got := rawCall(
		t, s.Addr, "/event_store.client.gossip.Gossip/Read", framed(t, &shared.Empty{}), huge,
	); got.status == "0" {
		t.Errorf("a header of %d bytes: %+v", (64 << 10), got)
	}
}
