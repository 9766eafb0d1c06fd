// Package codec encodes events as the JSON that is stored, and decodes every version that was ever
// released. It does not interpret the events, and knows no store.
package codec

import (
	"encoding/json"
	"errors"
	"fmt"

	"linkledger/events"
)

// ErrUnknownType means that this program does not know the type of a stored event: a newer version
// or another program wrote it. Callers MUST stop, because skipping the event would silently change
// the history.
var ErrUnknownType = errors.New("unknown event type")

var decoders = map[string]func([]byte) (events.Event, error){
	events.URLCreated{}.EventType():           decode[events.URLCreated],
	claimingURLCreated.EventType():            decodeClaimingURLCreated,
	events.URLRetargeted{}.EventType():        decode[events.URLRetargeted],
	events.URLRenamed{}.EventType():           decode[events.URLRenamed],
	events.URLSettingsChanged{}.EventType():   decode[events.URLSettingsChanged],
	events.URLTagged{}.EventType():            decode[events.URLTagged],
	events.URLUntagged{}.EventType():          decode[events.URLUntagged],
	events.URLStatsReset{}.EventType():        decode[events.URLStatsReset],
	events.URLDeleted{}.EventType():           decode[events.URLDeleted],
	events.URLRestored{}.EventType():          decode[events.URLRestored],
	events.URLStatsRestored{}.EventType():     decode[events.URLStatsRestored],
	events.ClaimAbandoned{}.EventType():       decode[events.ClaimAbandoned],
	events.CreationAbandoned{}.EventType():    decode[events.CreationAbandoned],
	events.HashClaimed{}.EventType():          decode[events.HashClaimed],
	events.HashReleased{}.EventType():         decode[events.HashReleased],
	events.LongURLClaimed{}.EventType():       decode[events.LongURLClaimed],
	events.TagCreated{}.EventType():           decode[events.TagCreated],
	events.TagRenamed{}.EventType():           decode[events.TagRenamed],
	events.TagDeleted{}.EventType():           decode[events.TagDeleted],
	events.UsernameClaimed{}.EventType():      decode[events.UsernameClaimed],
	events.AccountOpened{}.EventType():        decode[events.AccountOpened],
	events.KeyRotated{}.EventType():           decode[events.KeyRotated],
	events.KeyAdded{}.EventType():             decode[events.KeyAdded],
	events.KeyChanged{}.EventType():           decode[events.KeyChanged],
	events.KeyRevoked{}.EventType():           decode[events.KeyRevoked],
	events.PlanChanged{}.EventType():          decode[events.PlanChanged],
	events.AccountExpiryChanged{}.EventType(): decode[events.AccountExpiryChanged],
	events.AccountDeactivated{}.EventType():   decode[events.AccountDeactivated],
	events.AccountReactivated{}.EventType():   decode[events.AccountReactivated],
	events.AccountErased{}.EventType():        decode[events.AccountErased],
	events.MemberSet{}.EventType():            decode[events.MemberSet],
	events.MemberRemoved{}.EventType():        decode[events.MemberRemoved],
	events.IdentityClaimed{}.EventType():      decode[events.IdentityClaimed],
	events.UserKnown{}.EventType():            decode[events.UserKnown],
	events.UserErased{}.EventType():           decode[events.UserErased],
	events.ClicksRecorded{}.EventType():       decodeClicks,
	events.AllowanceUsed{}.EventType():        decode[events.AllowanceUsed],
	events.QuotaChanged{}.EventType():         decode[events.QuotaChanged],
	events.CallsMetered{}.EventType():         decode[events.CallsMetered],
	events.CallKeyed{}.EventType():            decode[events.CallKeyed],
	events.DatabaseAdopted{}.EventType():      decode[events.DatabaseAdopted],
	events.WebhookAdded{}.EventType():         decode[events.WebhookAdded],
	events.WebhookChanged{}.EventType():       decode[events.WebhookChanged],
	events.WebhookSecretRotated{}.EventType(): decode[events.WebhookSecretRotated],
	events.WebhookSuspended{}.EventType():     decode[events.WebhookSuspended],
	events.WebhookResumed{}.EventType():       decode[events.WebhookResumed],
	events.WebhookRemoved{}.EventType():       decode[events.WebhookRemoved],
}

func decode[E events.Event](body []byte) (events.Event, error) {
	var e E
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, err
	}
	return e, nil
}

var claimingURLCreated = events.URLCreated{ClaimsHash: true}

func decodeClaimingURLCreated(body []byte) (events.Event, error) {
	e := claimingURLCreated
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, err
	}
	return e, nil
}

func decodeClicks(body []byte) (events.Event, error) {
	if e, ok := readClicks(body); ok {
		return e, nil
	}
	return decode[events.ClicksRecorded](body)
}

// Encode returns the stored body of an event. It returns a *TextError if a text of the event cannot
// be stored and shown everywhere. It does not check the texts of an event that ends a right,
// because such an event may name something that another program has stored.
func Encode(e events.Event) ([]byte, error) {
	if events.EndsRights(e) {
		return json.Marshal(e)
	}
	return EncodePart(e.EventType(), e)
}

// EncodePart returns the JSON of a part of an event, such as metadata, or details before they are
// sealed. It returns a *TextError for the texts that Encode refuses. Its errors contain the name of
// the part.
func EncodePart(name string, value any) ([]byte, error) {
	body, err := json.Marshal(value)
	if err == nil {
		err = checkTexts(name, body)
	}
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	return body, nil
}

// Decode returns the event of a stored body as a struct value, never a pointer. The strings of the
// event may share the memory of body, so the caller MUST NOT change body afterwards. Decode
// replaces NUL in texts with U+FFFD, because versions up to v0.1.0 accepted NUL and PostgreSQL
// cannot store it. Decode returns ErrUnknownType if this program does not know eventType.
func Decode(eventType string, body []byte) (events.Event, error) {
	dec, ok := decoders[eventType]
	if !ok {
		return nil, fmt.Errorf(
			"%w %q: it was written by a newer version, upgrade this program", ErrUnknownType,
			eventType,
		)
	}
	e, err := dec(withoutNUL(body))
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", eventType, err)
	}
	return e, nil
}
