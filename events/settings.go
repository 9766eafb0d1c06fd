package events

// Settings are what the owner of a link can set beside its hash, destination, note and tags. A new
// setting needs a field here, in SettingsChange and in SettingsRecord, and a row in AllSettings.
type Settings struct {
	EmailStats     bool   `json:"email_stats,omitempty"`
	Ping           bool   `json:"ping,omitempty"`
	Protected      bool   `json:"protected,omitempty"`
	Archived       bool   `json:"archived,omitempty"`
	ExpirationDate string `json:"expiration_date,omitempty"` // YYYY-MM-DD; empty: never
	MaxClicks      int64  `json:"max_clicks,omitempty"`      // 0: no limit
}

// SettingsChange has the new values of settings. A nil field means that the setting stays.
type SettingsChange struct {
	EmailStats     *bool   `json:"email_stats,omitempty"`
	Ping           *bool   `json:"ping,omitempty"`
	Protected      *bool   `json:"protected,omitempty"`
	Archived       *bool   `json:"archived,omitempty"`
	ExpirationDate *string `json:"expiration_date,omitempty"` // empty: the link no longer expires
	MaxClicks      *int64  `json:"max_clicks,omitempty"`
}

// AllSettings has one row for each field of Settings, in the order in which histories list them.
var AllSettings = []Setting{
	newSetting("email_stats",
		func(s *Settings) *bool { return &s.EmailStats },
		func(c *SettingsChange) **bool { return &c.EmailStats }),
	newSetting("ping",
		func(s *Settings) *bool { return &s.Ping },
		func(c *SettingsChange) **bool { return &c.Ping }),
	newSetting("protected",
		func(s *Settings) *bool { return &s.Protected },
		func(c *SettingsChange) **bool { return &c.Protected }),
	newSetting("archived",
		func(s *Settings) *bool { return &s.Archived },
		func(c *SettingsChange) **bool { return &c.Archived }),
	newSetting("expiration_date",
		func(s *Settings) *string { return &s.ExpirationDate },
		func(c *SettingsChange) **string { return &c.ExpirationDate }),
	newSetting("max_clicks",
		func(s *Settings) *int64 { return &s.MaxClicks },
		func(c *SettingsChange) **int64 { return &c.MaxClicks }),
}

// Setting gives access to one setting by its name.
type Setting struct {
	Name string                // in records of the API, histories and tables
	Get  func(s *Settings) any // a bool, a string or an int64
	// Set sets a value that Get returned.
	Set func(s *Settings, value any)

	apply          func(s *Settings, c *SettingsChange)
	clearUnchanged func(c *SettingsChange, s *Settings) (changed bool)
	give           func(c *SettingsChange, s *Settings)
}

func newSetting[T comparable](
	name string, of func(*Settings) *T, change func(*SettingsChange) **T,
) Setting {
	return Setting{
		Name: name,
		Get:  func(s *Settings) any { return *of(s) },
		Set:  func(s *Settings, value any) { *of(s), _ = value.(T) },
		apply: func(s *Settings, c *SettingsChange) {
			if value := *change(c); value != nil {
				*of(s) = *value
			}
		},
		clearUnchanged: func(c *SettingsChange, s *Settings) bool {
			value := change(c)
			if *value != nil && **value == *of(s) {
				*value = nil
			}
			return *value != nil
		},
		give: func(c *SettingsChange, s *Settings) { *change(c) = new(*of(s)) },
	}
}

// SettingsRecord is how records show settings in JSON.
type SettingsRecord struct {
	EmailStats     bool    `json:"email_stats"`
	Ping           bool    `json:"ping"`
	Protected      bool    `json:"protected"`
	Archived       bool    `json:"archived"`
	ExpirationDate *string `json:"expiration_date"` // nil: the link never expires
	MaxClicks      int64   `json:"max_clicks"`
}

// Record returns the settings as records show them.
func (s Settings) Record() SettingsRecord {
	record := SettingsRecord{
		EmailStats: s.EmailStats, Ping: s.Ping, Protected: s.Protected, Archived: s.Archived,
		MaxClicks: s.MaxClicks,
	}
	if s.ExpirationDate != "" {
		record.ExpirationDate = &s.ExpirationDate
	}
	return record
}

// Apply sets the values that the change has.
func (s *Settings) Apply(c SettingsChange) {
	for _, setting := range AllSettings {
		setting.apply(s, &c)
	}
}

// From returns the change without the settings whose new value is the value in current. changed
// reports whether any setting remains.
func (c SettingsChange) From(current Settings) (difference SettingsChange, changed bool) {
	for _, setting := range AllSettings {
		changed = setting.clearUnchanged(&c, &current) || changed
	}
	return c, changed
}

// Change returns the change that gives a link all these settings.
func (s Settings) Change() SettingsChange {
	var c SettingsChange
	for _, setting := range AllSettings {
		setting.give(&c, &s)
	}
	return c
}
