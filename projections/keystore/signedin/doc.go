// Package signedin stores who is signed in with a browser: sessions, one-time links, the sessions
// that an issuer has ended, and the answers of forms. They lie in the schema linkledger_durable.
package signedin
