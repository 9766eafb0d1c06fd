package contract

import "time"

// HeadAnswer has the present signed head of the log.
type HeadAnswer struct {
	Envelope
	Head Head `json:"head"`
}

// Head is a signed head of the log: a signed statement of the events that the log begins with.
type Head struct {
	Events    int64  `json:"events"`     // number of events that the head commits to
	Root      string `json:"root"`       // hash of the Merkle tree over these events, in base64
	Signed    string `json:"signed"`     // the signed text, for the client to keep
	PublicKey string `json:"public_key"` // verifies the signature
}

// ProofAnswer has a file that proves one page of a link's history.
type ProofAnswer struct {
	Envelope
	Proof Proof `json:"proof"`
	Page  Page  `json:"page"` // of the history
}

// Proof is a file of proofs, with the number of events that it proves.
type Proof struct {
	File    string `json:"file"`     // as linkledger audit verify-proof takes it
	Events  int    `json:"events"`   // number of events that the file proves
	LeftOut int    `json:"left_out"` // events of the page that other accounts or operators caused
	Head    Head   `json:"head"`
}

// ProofPayload is the body of the call that checks a file.
type ProofPayload struct {
	File string `json:"file"`
}

// CheckAnswer has the result of the check of a file.
type CheckAnswer struct {
	Envelope
	Check Check `json:"check"`
}

// Check is the result of the check of a file of proofs or of exported events.
type Check struct {
	Valid  bool   `json:"valid"`
	Reason string `json:"reason,omitempty"` // why it is not valid
	// For a file of proofs, InLog reports whether the log still begins with the events that the
	// head of the file commits to. For an export, it reports whether the log has each event of the
	// export.
	InLog  bool          `json:"in_log"`
	Head   *Head         `json:"head"`   // null: the file is not valid, or is an export
	Export *Export       `json:"export"` // null: the file is not an export
	Events []ProvenEvent `json:"events"`
}

// Export is a file of exported events.
type Export struct {
	Account *string `json:"account"` // id; null: the file has the events of all accounts
	Events  int64   `json:"events"`
	Root    string  `json:"root"` // hash of the Merkle tree over these events, in base64
}

// ProvenEvent is an event that a file proves, as the log has it.
type ProvenEvent struct {
	Index    int64     `json:"index"` // in the log, from 0
	Position uint64    `json:"position"`
	Stream   string    `json:"stream"`
	Revision int64     `json:"revision"`
	Type     string    `json:"type"`
	Time     time.Time `json:"time"`
	Data     string    `json:"data"` // as stored
}
