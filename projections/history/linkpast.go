package history

import (
	"bytes"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"linkledger/projections/linkrow"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// linkPast is a link with what is to be written of its past.
type linkPast struct {
	created  bool           // by the batch: nothing of it is stored
	versions []*linkVersion // the last one is as the link is now
	face     linkFace       // that it has, or had until its deletion
	former   []linkFace
}

// span is a stretch of time.
type span struct {
	since, until int64 // moments; until is readmodel.Forever where it goes on
	changed      bool  // it is not as it is stored
}

type linkVersion struct {
	readmodel.Link
	span
}

// linkFace is what a live link is found by.
type linkFace struct {
	span
	hash, text string
}

// link returns a copy of the link as it is now; nil: there is none.
func (l *linkPast) link() *readmodel.Link {
	if l == nil {
		return nil
	}
	link := l.versions[len(l.versions)-1].Link
	link.TagIDs = slices.Clone(link.TagIDs)
	return &link
}

// become makes the link another one from a moment on. Of several changes at one moment the last one
// counts. A sealed note that is given to it counts as another one, because nobody can compare it
// once it is erased.
func (l *linkPast) become(link readmodel.Link, at int64, noted bool) {
	if n := len(l.versions); n > 0 && l.versions[n-1].since == at {
		l.versions[n-1].Link, l.versions[n-1].changed = link, true
	} else {
		if n > 0 {
			l.versions[n-1].until, l.versions[n-1].changed = at, true
		}
		l.versions = append(l.versions, &linkVersion{link, span{at, readmodel.Forever, true}})
	}
	text := ""
	if link.DeletedAt.IsZero() {
		text = readmodel.SearchText(link.LongURL, link.Note, link.Hash) // which is never empty
	}
	l.show(link.Hash, text, at, noted)
}

// show gives the link another face from a moment on; without text it has none.
func (l *linkPast) show(hash, text string, at int64, noted bool) {
	face := &l.face
	shown := face.until == readmodel.Forever
	switch {
	case shown == (text != "") && (!shown || !noted && face.hash == hash && face.text == text):
		return
	case text == "":
		face.until = at
	default:
		if face.text != "" && face.since < at {
			face.until = min(face.until, at)
			l.former = append(l.former, *face)
		}
		*face = linkFace{span{since: at, until: readmodel.Forever}, hash, text}
	}
	face.changed = true
}

func readLinkPasts(s *sqlbatch.Batch, links sqlbatch.UUIDs, into map[uuid.UUID]*linkPast) {
	if len(links) == 0 {
		return
	}
	s.Queue(`
		SELECT face.since, face.until, face.hash, face.text, version.since, version.id, version.account_id, version.number,
			version.hash, version.long_url, version.note, version.email_stats, version.ping, version.protected, version.archived,
			version.expiration_date, version.max_clicks, version.tag_ids, version.created_at, version.modified_at,
			version.revision, version.deleted_at
		FROM unnest($1::uuid[]) AS touched (id)
		JOIN ?schema.link_faces AS face ON face.link_id = touched.id
		CROSS JOIN LATERAL (
			SELECT * FROM ?schema.link_versions WHERE account_id = face.account_id AND number = face.number
			ORDER BY since DESC LIMIT 1) AS version`, links).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			v, face := &linkVersion{span: span{until: readmodel.Forever}}, linkFace{}
			var text []byte
			var deleted pgtype.Timestamptz
			if err := rows.Scan(&face.since, &face.until, &face.hash, &text, &v.since, &v.ID, &v.AccountID, &v.Number,
				&v.Hash, &v.LongURL, &v.Note, &v.EmailStats, &v.Ping, &v.Protected, &v.Archived,
				&v.ExpirationDate, &v.MaxClicks,
				&v.TagIDs, &v.CreatedAt, &v.ModifiedAt, &v.Revision, &deleted); err != nil {
				return err
			}
			v.DeletedAt, face.text = deleted.Time, string(text)
			into[v.ID] = &linkPast{versions: []*linkVersion{v}, face: face}
		}
		return rows.Err()
	})
}

// writeLinkPasts copies what is new: nobody has written of new links before, and former faces stay
// as they are.
func writeLinkPasts(s *sqlbatch.Batch, links map[uuid.UUID]*linkPast) {
	var newVersions, versions []*linkVersion
	var newFaces, faces, former []writtenFace
	// of creation, as the indexes are
	inOrder := slices.SortedFunc(maps.Values(links), func(a, b *linkPast) int {
		return bytes.Compare(a.versions[0].ID[:], b.versions[0].ID[:])
	})
	for _, l := range inOrder {
		toVersions, toFaces := &versions, &faces
		if l.created {
			toVersions, toFaces = &newVersions, &newFaces
		}
		for _, v := range l.versions {
			if v.changed {
				*toVersions = append(*toVersions, v)
			}
		}
		link := &l.versions[0].Link
		if l.face.changed {
			*toFaces = append(*toFaces, writtenFace{link, l.face})
		}
		for _, face := range l.former {
			former = append(former, writtenFace{link, face})
		}
	}
	s.Copy(
		"link_versions", versionColumns, len(newVersions),
		func(r *sqlbatch.Row, i int) { copyVersion(r, newVersions[i]) },
	)
	s.Copy(
		"link_faces", faceColumns, len(newFaces),
		func(r *sqlbatch.Row, i int) { copyFace(r, newFaces[i]) },
	)
	s.Copy(
		"former_faces", faceColumns, len(former),
		func(r *sqlbatch.Row, i int) { copyFace(r, former[i]) },
	)
	if len(versions) > 0 {
		upsertVersions(s, versions)
	}
	if len(faces) > 0 {
		upsertFaces(s, faces)
	}
}

// versionColumns are those of copyVersion.
var versionColumns = []string{
	"account_id", "number", "since", "until", "id", "hash", "long_url", "note", "email_stats",
	"ping", "protected", "archived",
	"expiration_date", "max_clicks", "tag_ids", "created_at", "modified_at", "revision",
	"deleted_at",
}

func copyVersion(r *sqlbatch.Row, v *linkVersion) {
	r.UUID(v.AccountID)
	r.Integer(v.Number)
	r.Bigint(v.since)
	r.Bigint(v.until)
	r.UUID(v.ID)
	linkrow.CopySettings(r, &v.Link)
	r.Timestamptz(v.CreatedAt)
	r.Timestamptz(v.ModifiedAt)
	r.Bigint(v.Revision)
	r.Timestamptz(v.DeletedAt)
}

func upsertVersions(s *sqlbatch.Batch, versions []*linkVersion) {
	var rows []*readmodel.Link
	var since, until []int64
	for _, v := range versions {
		rows, since, until = append(rows, &v.Link), append(since, v.since), append(until, v.until)
	}
	c := linkrow.TableOf(rows)
	s.Queue(`
		INSERT INTO ?schema.link_versions (id, hash, long_url, note, email_stats, ping, protected, archived, expiration_date,
			max_clicks, tag_ids, modified_at, revision, deleted_at, account_id, number, created_at, since, until)
		SELECT id, hash, long_url, note, email_stats, ping, protected, archived, expiration_date,
			max_clicks, tag_ids::uuid[], modified_at, revision, deleted_at, account_id, number, created_at, since, until
		FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bool[], $6::bool[], $7::bool[], $8::bool[],
			$9::date[], $10::bigint[], $11::text[], $12::timestamptz[], $13::bigint[], $14::timestamptz[],
			$15::uuid[], $16::integer[], $17::timestamptz[], $18::bigint[], $19::bigint[])
			AS folded (id, hash, long_url, note, email_stats, ping, protected, archived, expiration_date,
			max_clicks, tag_ids, modified_at, revision, deleted_at, account_id, number, created_at, since, until)
		ON CONFLICT (account_id, number, since) DO UPDATE SET
			until = EXCLUDED.until, hash = EXCLUDED.hash, long_url = EXCLUDED.long_url, note = EXCLUDED.note,
			email_stats = EXCLUDED.email_stats, ping = EXCLUDED.ping, protected = EXCLUDED.protected,
			archived = EXCLUDED.archived, expiration_date = EXCLUDED.expiration_date, max_clicks = EXCLUDED.max_clicks,
			tag_ids = EXCLUDED.tag_ids, modified_at = EXCLUDED.modified_at, revision = EXCLUDED.revision,
			deleted_at = EXCLUDED.deleted_at`,
		append(c.Changing(), c.Account, c.Number, c.Created, since, until)...)
}

// writtenFace is a face with its link.
type writtenFace struct {
	link *readmodel.Link
	linkFace
}

// faceColumns are those of copyFace.
var faceColumns = []string{"account_id", "since", "until", "number", "text", "hash", "link_id"}

func copyFace(r *sqlbatch.Row, f writtenFace) {
	r.UUID(f.link.AccountID)
	r.Bigint(f.since)
	r.Bigint(f.until)
	r.Integer(f.link.Number)
	r.Text(f.text) // bytes look alike
	r.Text(f.hash)
	r.UUID(f.link.ID)
}

func upsertFaces(s *sqlbatch.Batch, faces []writtenFace) {
	var link, account sqlbatch.UUIDs
	var since, until, number []int64
	var text [][]byte
	var hash []string
	for _, f := range faces {
		link, account = append(
			link, sqlbatch.UUID(f.link.ID),
		), append(account, sqlbatch.UUID(f.link.AccountID))
		since, until, number = append(
			since, f.since,
		), append(until, f.until), append(number, int64(f.link.Number))
		text, hash = append(text, []byte(f.text)), append(hash, f.hash)
	}
	s.Queue(`INSERT INTO ?schema.link_faces (account_id, since, until, number, text, hash, link_id)
		SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::integer[], $5::bytea[], $6::text[], $7::uuid[])
		ON CONFLICT (link_id) DO UPDATE SET
			since = EXCLUDED.since, until = EXCLUDED.until, hash = EXCLUDED.hash, text = EXCLUDED.text`,
		account, since, until, number, text, hash, link)
}
