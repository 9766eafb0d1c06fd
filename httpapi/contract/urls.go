package contract

// URL is a short link as callers with the scope links:read see it.
type URL struct {
	Hash                 string `json:"hash"`
	LongURL              string `json:"long_url"`
	ShortURL             string `json:"short_url"`
	ShortURLWithProtocol string `json:"short_url_with_protocol"`
	*Clicks
	Note string `json:"note"`
	Settings
	Tags       []string   `json:"tags"`
	CreatedAt  Timestamp  `json:"created_at"`
	ModifiedAt Timestamp  `json:"modified_at"`
	Links      Links      `json:"links"`
	Error      *ItemError `json:"error,omitempty"` // only in answers to writes
}

// Clicks are the fields of a URL that need the scope stats:read. Without it they are left out.
type Clicks struct {
	TotalClicks  int64      `json:"total_clicks"`
	UniqueClicks int64      `json:"unique_clicks"`
	LastVisit    *Timestamp `json:"last_visit"`
	Visited      bool       `json:"visited"`
}

// Settings are the settings of a URL.
type Settings struct {
	EmailStats     bool    `json:"email_stats"`
	Ping           bool    `json:"ping"`
	Protected      bool    `json:"protected"`
	Archived       bool    `json:"archived"`
	ExpirationDate *string `json:"expiration_date"` // YYYY-MM-DD; null: never
	MaxClicks      int64   `json:"max_clicks"`      // 0: no limit
}

// SettingsChange has the new values of settings. A nil field means that the setting stays.
type SettingsChange struct {
	EmailStats     *bool   `json:"email_stats,omitempty"`
	Ping           *bool   `json:"ping,omitempty"`
	Protected      *bool   `json:"protected,omitempty"`
	Archived       *bool   `json:"archived,omitempty"`
	ExpirationDate *string `json:"expiration_date,omitempty"` // empty: never
	MaxClicks      *int64  `json:"max_clicks,omitempty"`
}

// Links are the addresses of QR codes.
type Links struct {
	QRSmall string `json:"qr_small"`
	QRBig   string `json:"qr_big"`
}

// SentURL is a URL that a call has written, for callers without the scope links:read. Its fields
// have the same names as those of URL. Of the fields that calls write, it has only those that this
// call has sent.
type SentURL struct {
	Hash                 string  `json:"hash"`
	LongURL              *string `json:"long_url,omitempty"`
	ShortURL             string  `json:"short_url"`
	ShortURLWithProtocol string  `json:"short_url_with_protocol"`
	*Clicks
	Note *string `json:"note,omitempty"`
	SettingsChange
	// ExpirationDate holds a *string. A nil *string is null in JSON. If ExpirationDate itself is
	// nil, JSON lacks the field.
	ExpirationDate any        `json:"expiration_date,omitempty"`
	Tags           []string   `json:"tags,omitzero"`
	CreatedAt      *Timestamp `json:"created_at,omitempty"`
	Links          Links      `json:"links"`
	Error          *ItemError `json:"error"`
}

// FailedURL is an item that was refused.
type FailedURL struct {
	Hash       string    `json:"hash,omitempty"` // of the URL to edit
	LongURL    *string   `json:"long_url"`
	CustomHash *string   `json:"custom_hash"`
	Error      ItemError `json:"error"`
}

// URLsAnswer answers calls about URLs. U is URL. In answers to writes, U is a type that can be a
// URL, a SentURL or a FailedURL.
type URLsAnswer[U any] struct {
	Envelope
	URLs []U   `json:"urls"`
	Page *Page `json:"page,omitempty"` // in answers to reads
	Past *Past `json:"past,omitempty"` // in answers to reads with the parameter at
}

// DeletedURL is a URL as it was when it was deleted.
type DeletedURL struct {
	Hash        string    `json:"hash"`
	LongURL     string    `json:"long_url"`
	Note        string    `json:"note"`
	Tags        []string  `json:"tags"`
	TotalClicks *int64    `json:"total_clicks,omitempty"` // nil: the caller lacks stats:read
	CreatedAt   Timestamp `json:"created_at"`
	DeletedAt   Timestamp `json:"deleted_at"`
	Restorable  bool      `json:"restorable"` // restoring the hash brings this URL back
}

// DeletedURLsAnswer has a page of deleted URLs.
type DeletedURLsAnswer struct {
	Envelope
	Deleted []DeletedURL `json:"deleted"`
	Page    Page         `json:"page"`
}

// ChangedURL is a URL that a call changed: as it is now, or as it last was if it is deleted.
type ChangedURL struct {
	Hash    string `json:"hash"`
	LongURL string `json:"long_url"`
	Deleted bool   `json:"deleted"`
}

// ChangedURLsAnswer has a page of the URLs that a call changed.
type ChangedURLsAnswer struct {
	Envelope
	Changed []ChangedURL `json:"changed"`
	Page    Page         `json:"page"`
}

// UndoAnswer answers calls that undo changes.
type UndoAnswer struct {
	Envelope
	Undo Undo        `json:"undo"`
	URLs []FailedURL `json:"urls"` // the first URLs that were refused
}

// Undo says what an undo has done.
type Undo struct {
	Batch   string `json:"batch,omitempty"` // that was undone
	Key     string `json:"key,omitempty"`   // whose changes were undone
	Undone  int    `json:"undone"`          // URLs that are as they were before the changes
	Refused int    `json:"refused"`         // URLs that were left unchanged
}

// Restoration asks for the restoration of a URL.
type Restoration struct {
	Version *int64 `json:"version,omitempty"` // revision of an event; nil: undoes a deletion
}
