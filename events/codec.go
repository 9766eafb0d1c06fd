package events

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrUnknownType means that this program does not know the type of a stored event: a newer version
// or another program wrote it. Callers MUST stop, because skipping the event would silently change
// the history.
var ErrUnknownType = errors.New("unknown event type")

var decoders = map[string]func([]byte) (Event, error){
	URLCreated{}.EventType():           decode[URLCreated],
	claimingURLCreated.EventType():     decodeClaimingURLCreated,
	URLRetargeted{}.EventType():        decode[URLRetargeted],
	URLRenamed{}.EventType():           decode[URLRenamed],
	URLSettingsChanged{}.EventType():   decode[URLSettingsChanged],
	URLTagged{}.EventType():            decode[URLTagged],
	URLUntagged{}.EventType():          decode[URLUntagged],
	URLStatsReset{}.EventType():        decode[URLStatsReset],
	URLDeleted{}.EventType():           decode[URLDeleted],
	URLRestored{}.EventType():          decode[URLRestored],
	URLStatsRestored{}.EventType():     decode[URLStatsRestored],
	ClaimAbandoned{}.EventType():       decode[ClaimAbandoned],
	CreationAbandoned{}.EventType():    decode[CreationAbandoned],
	HashClaimed{}.EventType():          decode[HashClaimed],
	HashReleased{}.EventType():         decode[HashReleased],
	LongURLClaimed{}.EventType():       decode[LongURLClaimed],
	TagCreated{}.EventType():           decode[TagCreated],
	TagRenamed{}.EventType():           decode[TagRenamed],
	TagDeleted{}.EventType():           decode[TagDeleted],
	UsernameClaimed{}.EventType():      decode[UsernameClaimed],
	AccountOpened{}.EventType():        decode[AccountOpened],
	KeyRotated{}.EventType():           decode[KeyRotated],
	KeyAdded{}.EventType():             decode[KeyAdded],
	KeyChanged{}.EventType():           decode[KeyChanged],
	KeyRevoked{}.EventType():           decode[KeyRevoked],
	PlanChanged{}.EventType():          decode[PlanChanged],
	AccountExpiryChanged{}.EventType(): decode[AccountExpiryChanged],
	AccountDeactivated{}.EventType():   decode[AccountDeactivated],
	AccountReactivated{}.EventType():   decode[AccountReactivated],
	AccountErased{}.EventType():        decode[AccountErased],
	MemberSet{}.EventType():            decode[MemberSet],
	MemberRemoved{}.EventType():        decode[MemberRemoved],
	IdentityClaimed{}.EventType():      decode[IdentityClaimed],
	UserKnown{}.EventType():            decode[UserKnown],
	UserErased{}.EventType():           decode[UserErased],
	ClicksRecorded{}.EventType():       decodeClicks,
	AllowanceUsed{}.EventType():        decode[AllowanceUsed],
	QuotaChanged{}.EventType():         decode[QuotaChanged],
	CallsMetered{}.EventType():         decode[CallsMetered],
	CallKeyed{}.EventType():            decode[CallKeyed],
	DatabaseAdopted{}.EventType():      decode[DatabaseAdopted],
}

func decode[E Event](body []byte) (Event, error) {
	var e E
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, err
	}
	return e, nil
}

var claimingURLCreated = URLCreated{ClaimsHash: true}

func decodeClaimingURLCreated(body []byte) (Event, error) {
	e := claimingURLCreated
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, err
	}
	return e, nil
}

func decodeClicks(body []byte) (Event, error) {
	if e, ok := readClicks(body); ok {
		return e, nil
	}
	return decode[ClicksRecorded](body)
}

// Encode returns the stored body of an event. It refuses a text that cannot be stored and shown
// everywhere with a *TextError. What ends a right may name what another program has stored.
func Encode(e Event) ([]byte, error) {
	if EndsRights(e) {
		return json.Marshal(e)
	}
	return encode(e.EventType(), e)
}

// EncodeMetadata returns the stored form of metadata. It refuses what Encode refuses.
func EncodeMetadata(m Metadata) ([]byte, error) { return encode("metadata", m) }

func encode(name string, value any) ([]byte, error) {
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
// event may share the memory of body, so the caller MUST NOT change body afterwards. Its texts can
// be stored in PostgreSQL: U+FFFD stands for NUL, which versions up to v0.1.0 accepted. It returns
// ErrUnknownType if this program does not know eventType.
func Decode(eventType string, body []byte) (Event, error) {
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
