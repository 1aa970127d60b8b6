package window

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
)

// MaxMetadata is how many characters a broker stores beside a committed offset
// (the default of offset.metadata.max.bytes).
const MaxMetadata = 4096

const metadataVersion = "1"

// headLength is how long the text is without a set.
const headLength = len(metadataVersion + ":12345678:0123456789012345678901:")

// The ways in which committed metadata may be of no use.
var (
	ErrNoMetadata      = errors.New("no metadata was committed")
	ErrMetadataVersion = errors.New("committed metadata is of another version")
	ErrMetadataCorrupt = errors.New("committed metadata is corrupt or belongs to another offset")
)

// Metadata is what is committed beside an offset. It is a Kafka string, so it is
// written as text:
//
//	1:<checksum>:<topic id>:<completed>
//
// The checksum is CRC-32C over the rest and the offset, in eight hexadecimal
// digits. The topic id is base64url. The last field is empty while nothing above the
// committed offset is completed. Whatever a later retryd writes behind it is read past.
type Metadata struct {
	TopicID   [16]byte // of KIP-516: it changes when a topic is deleted and made anew
	Completed []Run    // above the committed offset
}

// SetRoom is over how many offsets a completed set always fits, whatever its pattern: as
// a bitmap.
const SetRoom = 8 * ((MaxMetadata-headLength)*3/4 - 1)

// Encode returns the text to be committed together with offset, of at most MaxMetadata
// characters: a set that does not fit is cut, and its lowest offsets are written. told is
// how many of its runs are. used is how full the room for the set is: 1 or more says
// that it was cut.
func (m Metadata) Encode(offset int64) (text string, told int, used float64) {
	set, told, used := writeSet(m.Completed, offset, MaxMetadata-headLength)
	body := base64.RawURLEncoding.EncodeToString(m.TopicID[:]) + ":" + set
	return fmt.Sprintf("%s:%08x:%s", metadataVersion, metadataChecksum(body, offset), body), told, used
}

// ParseMetadata parses what was committed together with offset. The error is one
// of ErrNoMetadata, ErrMetadataVersion and ErrMetadataCorrupt, perhaps wrapped.
func ParseMetadata(s string, offset int64) (Metadata, error) {
	if s == "" {
		return Metadata{}, ErrNoMetadata
	}
	version, rest, ok := strings.Cut(s, ":")
	if !ok || len(s) > MaxMetadata || version == "" || strings.Trim(version, "0123456789") != "" {
		return Metadata{}, ErrMetadataCorrupt
	}
	if version != metadataVersion {
		return Metadata{}, fmt.Errorf("%w: %.16q, this retryd reads %s", ErrMetadataVersion, version, metadataVersion)
	}
	sum, body, ok := strings.Cut(rest, ":")
	if !ok || sum != fmt.Sprintf("%08x", metadataChecksum(body, offset)) {
		return Metadata{}, ErrMetadataCorrupt
	}
	return parseMetadataBody(body, offset)
}

func parseMetadataBody(body string, offset int64) (Metadata, error) {
	id, rest, ok := strings.Cut(body, ":")
	var m Metadata
	if !ok || base64.RawURLEncoding.DecodedLen(len(id)) != len(m.TopicID) {
		return Metadata{}, ErrMetadataCorrupt
	}
	if _, err := base64.RawURLEncoding.Strict().Decode(m.TopicID[:], []byte(id)); err != nil {
		return Metadata{}, fmt.Errorf("%w: topic id: %w", ErrMetadataCorrupt, err)
	}
	set, _, _ := strings.Cut(rest, ":")
	completed, err := readSet(set, offset)
	if err != nil {
		return Metadata{}, fmt.Errorf("%w: %w", ErrMetadataCorrupt, err)
	}
	m.Completed = completed
	return m, nil
}

// metadataChecksum covers the version, the fields behind the checksum and the
// offset, so that metadata is never believed beside an offset that it was not
// committed with.
func metadataChecksum(body string, offset int64) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(0, table, []byte(metadataVersion+":"+body))
	return crc32.Update(sum, table, binary.BigEndian.AppendUint64(nil, uint64(offset)))
}
