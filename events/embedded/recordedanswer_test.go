package embedded_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"linkledger/events/embedded/recordedtest"
)

// recording is the result of a call in the form of the recordings of real servers.
type recording struct {
	messages []recordedtest.Message
	err      error
	trailer  metadata.MD
}

func (r *recording) add(t *testing.T, message proto.Message) {
	t.Helper()
	r.messages = append(r.messages, simplified(t, message))
}

// simplified returns a message in the form of the recordings.
func simplified(t *testing.T, message proto.Message) recordedtest.Message {
	t.Helper()
	if batch, ok := message.(*streams.BatchAppendResp); ok && batch.GetError() != nil {
		failed := batch.GetError()
		rest := proto.Clone(batch).(*streams.BatchAppendResp)
		rest.Result = nil
		m := simplified(t, rest)
		m["error"] = simplifiedStatus(failed)
		return m
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	var m recordedtest.Message
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	anonymize(m)
	return m
}

func simplifiedStatus(failed *rpcstatus.Status) map[string]any {
	detail := failed.GetDetails()[0]
	return map[string]any{
		"code": wireName(codes.Code(failed.GetCode())), "message": failed.GetMessage(),
		"details": map[string]any{"type_url": detail.GetTypeUrl(), "value": string(detail.GetValue())},
	}
}

func anonymize(m map[string]any) {
	for name, value := range m {
		text, _ := value.(string)
		switch name {
		case "data", "custom_metadata", "stream_name":
			raw, _ := base64.StdEncoding.DecodeString(text)
			if m[name] = string(raw); len(raw) == 0 {
				delete(m, name)
			}
		case "commit_position", "prepare_position", "last_stream_position":
			m[name] = "P"
		case "created", "time_stamp":
			m[name] = "T"
		case "string", "subscription_id", "correlation_id":
			m[name] = "U"
		case "structured":
			m[name] = "STRUCTURED"
		case "port":
			m[name] = "N"
		default:
			list, _ := value.([]any)
			for _, each := range append(list, value) {
				if inner, ok := each.(map[string]any); ok {
					anonymize(inner)
				}
			}
		}
	}
}

// wireName returns the name of a code in the protocol.
func wireName(code codes.Code) string {
	for _, name := range []string{
		"CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
		"PERMISSION_DENIED",
		"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL",
		"UNAVAILABLE",
		"DATA_LOSS", "UNAUTHENTICATED",
	} {
		var named codes.Code
		if named.UnmarshalJSON([]byte(`"`+name+`"`)) == nil && named == code {
			return name
		}
	}
	return "OK"
}

// receive stores responses until the call ends or has caught up.
func (r *recording) receive(t *testing.T, call streams.Streams_ReadClient) {
	t.Helper()
	for {
		answer, err := call.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.err, r.trailer = err, call.Trailer()
			}
			return
		}
		r.add(t, answer)
		if answer.GetCaughtUp() != nil {
			return
		}
	}
}

// text returns the text that represents a result in the comparison of two servers. It omits error
// messages unless a trailer names the exception.
func (r *recording) text(t *testing.T, like recordedtest.Case) string {
	t.Helper()
	c := recordedtest.Case{Messages: r.messages, Trailers: map[string]string{}}
	if r.err != nil {
		c.Status, c.Details = wireName(status.Code(r.err)), status.Convert(r.err).Message()
	}
	for name, values := range r.trailer {
		if !strings.HasPrefix(name, "grpc-") && name != "content-type" {
			c.Trailers[name] = values[0]
		}
	}
	return caseText(t, c, like.InPart)
}

// caseText returns the text of a recorded case. If inPart, the text contains only the names of the
// messages, and the name of consecutive messages once.
func caseText(t *testing.T, c recordedtest.Case, inPart bool) string {
	t.Helper()
	var lines []string
	for _, m := range c.Messages {
		if inPart {
			lines = append(lines, slices.Sorted(maps.Keys(m))...)
			continue
		}
		line, err := json.Marshal(withoutProse(m))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	if inPart {
		lines = slices.Compact(lines)
	}
	lines = append(lines, c.Status)
	if c.Trailers["exception"] != "" {
		trailers, err := json.Marshal(c.Trailers)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(trailers), sizes.ReplaceAllString(c.Details, "N"))
	}
	return strings.Join(lines, "\n")
}

var sizes = regexp.MustCompile(`\d{4,}`)

// withoutProse removes the details of a batch's error, unless they are compared and were recorded
// completely.
func withoutProse(m recordedtest.Message) recordedtest.Message {
	failed, _ := m["error"].(map[string]any)
	if details, ok := failed["details"].(map[string]any); ok {
		value, _ := details["value"].(string)
		kind, _ := details["type_url"].(string)
		compared := strings.HasSuffix(kind, ".WrongExpectedVersion") ||
			strings.HasSuffix(kind, ".StreamDeleted")
		if !compared || strings.ContainsRune(value, '\uFFFD') {
			delete(details, "value")
		}
	}
	return m
}
