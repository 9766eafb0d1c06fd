package archive

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"linkledger/events/eventstore"
	"linkledger/events/proof/leaf"
)

// Position is the position of an event in the log of all streams.
type Position struct {
	Commit  uint64 `json:"commit"`
	Prepare uint64 `json:"prepare"`
}

func (p Position) after(q Position) bool {
	return eventstore.Position(p).After(eventstore.Position(q))
}

const columns = "commit,prepare,stream,revision,id,type,time," +
	"metadata,metadata_base64,data,data_base64"

const columnCount = 11

// appendCSV appends an event as a line of csv, without the line end.
func appendCSV(line []byte, r eventstore.Recorded) ([]byte, error) {
	if strings.ContainsAny(r.Stream+r.Type, "\r\n") {
		return nil, fmt.Errorf(
			"the name of stream %q or of type %q has a line break: export to ndjson", r.Stream,
			r.Type,
		)
	}
	line = strconv.AppendUint(line, r.Position.Commit, 10)
	line = append(line, ',')
	line = strconv.AppendUint(line, r.Position.Prepare, 10)
	line = appendQuoted(append(line, ','), r.Stream)
	line = append(line, ',')
	line = strconv.AppendInt(line, int64(r.Revision), 10)
	line = append(line, ',')
	line = append(line, r.ID.String()...)
	line = appendQuoted(append(line, ','), r.Type)
	line = append(line, ',')
	line = r.Time.UTC().AppendFormat(line, time.RFC3339Nano)
	for _, stored := range [][]byte{r.Metadata, r.Data} {
		line = append(line, ',')
		switch {
		case len(stored) == 0:
			line = append(line, ',')
		case leaf.Verbatim(stored):
			line = append(appendQuoted(line, string(stored)), ',')
		default:
			line = append(line, ',')
			line = base64.StdEncoding.AppendEncode(line, stored)
		}
	}
	return line, nil
}

func appendQuoted(line []byte, field string) []byte {
	line = append(line, '"')
	line = append(line, strings.ReplaceAll(field, `"`, `""`)...)
	return append(line, '"')
}

// leafOfCSV returns the ndjson line of a csv line, byte for byte as an export writes it.
func leafOfCSV(fields []string) []byte {
	line := append([]byte(`{"position":{"commit":`), fields[0]...)
	line = append(line, `,"prepare":`...)
	line = append(line, fields[1]...)
	line = append(line, `},"stream":`...)
	line = leaf.AppendString(line, fields[2])
	line = append(line, `,"revision":`...)
	line = append(line, fields[3]...)
	line = append(line, `,"id":"`...)
	line = append(line, fields[4]...)
	line = append(line, `","type":`...)
	line = leaf.AppendString(line, fields[5])
	line = append(line, `,"time":"`...)
	line = append(line, fields[6]...)
	line = append(line, '"')
	for i, name := range []string{"metadata", "data"} {
		if text := fields[7+2*i]; text != "" {
			line = append(line, `,"`+name+`":`...)
			line = append(line, text...)
		}
		if text := fields[8+2*i]; text != "" {
			line = append(line, `,"`+name+`_base64":"`...)
			line = append(line, text...)
			line = append(line, '"')
		}
	}
	return append(line, '}')
}
