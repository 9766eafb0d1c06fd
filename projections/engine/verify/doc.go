// Package verify replays the log into temporary tables and compares them with the tables that
// readers see. It MUST NOT change the read model.
package verify
