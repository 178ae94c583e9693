package flatbuf_test

import (
	"math/rand/v2"
	"strings"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds a table with a field of every kind, the model of its values, and
// the two ways between them and bytes, by hand.

// The slots of a monster.
const (
	slotPos = iota
	slotMana
	slotHP
	slotName
	slotFriends
	slotInventory
	slotTags
	slotTestType
	slotTest
	slotAnyTypes
	slotAnys
	slotNested
	slotPath
	slotWide
	slotEnemy
	slotFlag
	slotWideNested
	monsterSlots
)

// The types of the union.
const (
	isMonster = 1
	isString  = 2
	isVec     = 5 // with a gap before
)

var monsterLayout = flatbuf.Layout{
	Tables: []flatbuf.TableLayout{{Name: "Monster", Fields: []flatbuf.FieldLayout{
		{Name: "flag", Slot: slotFlag, Kind: flatbuf.ScalarField, Size: 1, Align: 1},
		{Name: "pos", Slot: slotPos, Kind: flatbuf.ScalarField, Size: 24, Align: 8},
		{Name: "mana", Slot: slotMana, Kind: flatbuf.ScalarField, Size: 2, Align: 2},
		{Name: "hp", Slot: slotHP, Kind: flatbuf.ScalarField, Size: 8, Align: 8},
		{Name: "name", Slot: slotName, Kind: flatbuf.StringField, Required: true},
		{Name: "friends", Slot: slotFriends, Kind: flatbuf.TableVector, Ref: 0},
		{Name: "inventory", Slot: slotInventory, Kind: flatbuf.ScalarVector, Size: 1, Align: 1},
		{Name: "tags", Slot: slotTags, Kind: flatbuf.StringVector},
		{Name: "test", Slot: slotTest, Kind: flatbuf.UnionField, Size: 1, Ref: 0},
		{Name: "anys", Slot: slotAnys, Kind: flatbuf.UnionVector, Size: 1, Ref: 0},
		{Name: "nested", Slot: slotNested, Kind: flatbuf.NestedField, Ref: 0},
		{Name: "path", Slot: slotPath, Kind: flatbuf.ScalarVector, Size: 24, Align: 8},
		{Name: "wide", Slot: slotWide, Kind: flatbuf.ScalarVector, Size: 2, Align: 2, Offset64: true, Vector64: true},
		{Name: "enemy", Slot: slotEnemy, Kind: flatbuf.TableField, Ref: 0},
		{Name: "wide_nested", Slot: slotWideNested, Kind: flatbuf.NestedField, Ref: 0, Offset64: true, Vector64: true},
	}}},
	Unions: []flatbuf.UnionLayout{{Name: "Any", Members: []flatbuf.UnionMember{
		{Name: "vec", Type: isVec, Kind: flatbuf.ScalarField, Size: 24, Align: 8},
		{Name: "monster", Type: isMonster, Kind: flatbuf.TableField, Ref: 0},
		{Name: "string", Type: isString, Kind: flatbuf.StringField},
	}}},
}

type vec struct {
	x, y float64
	z    int32
}

// any is a value of the union: one of its parts, or none.
type anyValue struct {
	monster *monster
	text    *string
	vec     *vec
}

// monster is the model of a table. What is absent is nil, or the default.
type monster struct {
	pos       *vec
	mana      int16 // default 150
	hp        int64 // default 0
	name      string
	friends   []*monster
	inventory []byte
	tags      []string
	test      anyValue
	anys      []anyValue
	nested    *monster
	path      []vec
	wide      []uint16
	enemy     *monster
	flag      bool

	wideNested *monster
}

const defaultMana = 150

// randomMonster draws a value; size bounds the number of its parts.
func randomMonster(r *rand.Rand, size int) *monster {
	m := &monster{mana: defaultMana, name: randomText(r)}
	if r.IntN(2) == 0 {
		v := randomVec(r)
		m.pos = &v
	}
	if r.IntN(2) == 0 {
		m.mana = int16(r.Uint32())
	}
	if r.IntN(2) == 0 {
		m.hp = int64(r.Uint64())
	}
	m.flag = r.IntN(2) == 0
	part := func() bool { return r.IntN(4) == 0 }
	if part() {
		for range r.IntN(20) {
			m.inventory = append(m.inventory, byte(r.Uint32()))
		}
	}
	if part() {
		for range r.IntN(4) {
			m.tags = append(m.tags, randomText(r))
		}
	}
	if part() {
		for range r.IntN(4) {
			m.path = append(m.path, randomVec(r))
		}
	}
	if part() {
		for range r.IntN(4) {
			m.wide = append(m.wide, uint16(r.Uint32()))
		}
	}
	if size <= 1 {
		return m
	}
	if part() {
		m.enemy = randomMonster(r, size/2)
	}
	if part() {
		m.nested = randomMonster(r, size/2)
	}
	if part() {
		m.wideNested = randomMonster(r, size/2)
	}
	if part() {
		for range r.IntN(4) {
			m.friends = append(m.friends, randomMonster(r, size/4))
		}
	}
	m.test = randomAny(r, size/2)
	if part() {
		for range r.IntN(4) {
			m.anys = append(m.anys, randomAny(r, size/4))
		}
	}
	return m
}

func randomAny(r *rand.Rand, size int) (a anyValue) {
	switch r.IntN(5) {
	case 0:
		a.monster = randomMonster(r, size)
	case 1:
		s := randomText(r)
		a.text = &s
	case 2:
		v := randomVec(r)
		a.vec = &v
	}
	return a
}

func randomVec(r *rand.Rand) vec { return vec{r.Float64(), -r.Float64(), int32(r.Uint32())} }
func randomText(r *rand.Rand) string {
	return strings.Repeat("text of any length ", 3)[:r.IntN(40)]
}

// buildVec writes a struct.
func buildVec(b *flatbuf.Builder, v vec) flatbuf.UOffsetT {
	b.Prep(8, 24)
	b.Pad(4)
	b.PrependInt32(v.z)
	b.PrependFloat64(v.y)
	b.PrependFloat64(v.x)
	return b.Offset()
}

func buildAny(b *flatbuf.Builder, a anyValue, fast bool) (typ byte, off flatbuf.UOffsetT) {
	switch {
	case a.monster != nil:
		return isMonster, buildMonster(b, a.monster, fast)
	case a.text != nil:
		return isString, b.CreateString(*a.text)
	case a.vec != nil:
		return isVec, buildVec(b, *a.vec)
	default:
		return 0, 0
	}
}

// monsterParts are the offsets of what a monster refers to.
type monsterParts [monsterSlots]flatbuf.UOffsetT

func buildParts(b *flatbuf.Builder, m *monster, fast bool) (p monsterParts, testType byte) {
	p[slotName] = b.CreateString(m.name)
	if m.wide != nil {
		p[slotWide] = flatbuf.CreateScalarVector64(b, m.wide)
	}
	if m.wideNested != nil {
		p[slotWideNested] = flatbuf.CreateScalarVector64(b, messageOf(m.wideNested, fast))
	}
	if m.enemy != nil {
		p[slotEnemy] = buildMonster(b, m.enemy, fast)
	}
	if m.friends != nil {
		var offs []flatbuf.UOffsetT
		for _, f := range m.friends {
			offs = append(offs, buildMonster(b, f, fast))
		}
		p[slotFriends] = b.CreateVectorOfTables(offs)
	}
	if m.inventory != nil {
		p[slotInventory] = b.CreateByteVector(m.inventory)
	}
	if m.tags != nil {
		var offs []flatbuf.UOffsetT
		for _, t := range m.tags {
			offs = append(offs, b.CreateSharedString(t))
		}
		p[slotTags] = b.CreateVectorOfTables(offs)
	}
	testType, p[slotTest] = buildAny(b, m.test, fast)
	if m.anys != nil {
		var types []byte
		var offs []flatbuf.UOffsetT
		for _, a := range m.anys {
			typ, off := buildAny(b, a, fast)
			types = append(types, typ)
			offs = append(offs, off)
		}
		p[slotAnyTypes] = b.CreateByteVector(types)
		b.StartVector(4, len(offs), 4)
		for i := len(offs) - 1; i >= 0; i-- {
			if offs[i] == 0 {
				b.PrependUint32(0) // NONE refers to nothing
				continue
			}
			b.PrependUOffsetT(offs[i])
		}
		p[slotAnys] = b.EndVector(len(offs))
	}
	if m.nested != nil {
		p[slotNested] = b.CreateByteVector(messageOf(m.nested, fast))
	}
	if m.path != nil {
		b.StartVector(24, len(m.path), 8)
		for i := len(m.path) - 1; i >= 0; i-- {
			buildVec(b, m.path[i])
		}
		p[slotPath] = b.EndVector(len(m.path))
	}
	return p, testType
}

// buildMonster writes m with the methods that Google's builder has, or fast, with
// StartTable.
func buildMonster(b *flatbuf.Builder, m *monster, fast bool) flatbuf.UOffsetT {
	p, testType := buildParts(b, m, fast)
	if fast {
		return buildFast(b, m, &p, testType)
	}
	b.StartObject(monsterSlots)
	for _, slot := range []int{slotName, slotFriends, slotInventory, slotTags, slotTest, slotAnyTypes, slotAnys, slotNested, slotPath, slotEnemy} {
		b.PrependUOffsetTSlot(slot, p[slot], 0)
	}
	b.PrependUOffsetT64Slot(slotWide, p[slotWide], 0)
	b.PrependUOffsetT64Slot(slotWideNested, p[slotWideNested], 0)
	if m.pos != nil {
		b.PrependStructSlot(slotPos, buildVec(b, *m.pos), 0)
	}
	b.PrependInt16Slot(slotMana, m.mana, defaultMana)
	b.PrependInt64Slot(slotHP, m.hp, 0)
	b.PrependByteSlot(slotTestType, testType, 0)
	b.PrependBoolSlot(slotFlag, m.flag, false)
	return b.EndObject()
}

func buildFast(b *flatbuf.Builder, m *monster, p *monsterParts, testType byte) flatbuf.UOffsetT {
	t, vt := b.StartTable(monsterSlots, 24+8+8+8+10*4+2+1+1, 8)
	at := 4
	if m.pos != nil {
		s := t[at:]
		at = flatbuf.PutStruct(vt, slotPos, at, 24)
		flatbuf.WriteFloat64(s, m.pos.x)
		flatbuf.WriteFloat64(s[8:], m.pos.y)
		flatbuf.WriteInt32(s[16:], m.pos.z)
		flatbuf.WriteUint32(s[20:], 0)
	}
	if m.hp != 0 {
		at = flatbuf.PutUint64(t, vt, slotHP, at, uint64(m.hp))
	}
	wide := at
	for _, slot := range []int{slotWide, slotWideNested} {
		if off := p[slot]; off != 0 {
			at = flatbuf.PutUint64(t, vt, slot, at, uint64(off))
		}
	}
	refs := at
	for _, slot := range []int{slotName, slotFriends, slotInventory, slotTags, slotTest, slotAnyTypes, slotAnys, slotNested, slotPath, slotEnemy} {
		if p[slot] != 0 {
			at = flatbuf.PutUint32(t, vt, slot, at, uint32(p[slot]))
		}
	}
	refsEnd := at
	if m.mana != defaultMana {
		at = flatbuf.PutUint16(t, vt, slotMana, at, uint16(m.mana))
	}
	if testType != 0 {
		at = flatbuf.PutUint8(t, vt, slotTestType, at, testType)
	}
	if m.flag {
		at = flatbuf.PutBool(t, vt, slotFlag, at, true)
	}
	return b.EndTable64(t, vt, 8, at, wide, refs, refsEnd)
}

// message_ returns m as a message of its own.
func messageOf(m *monster, fast bool) []byte {
	b := flatbuf.NewBuilder(0)
	b.Finish(buildMonster(b, m, fast))
	return b.FinishedBytes()
}

// reader reads monsters back, with the accessors that generated code uses. broken counts
// what was not where it was looked for. budget bounds the parts of a message
// that nobody verified.
type reader struct {
	broken, budget int
}

func (r *reader) message(b []byte) *monster {
	return r.monster(&flatbuf.Table{Bytes: b, Pos: flatbuf.GetIndirectOffset(b, 0)})
}

// vector returns position and number of the elements of the vector in a slot.
func (r *reader) vector(t *flatbuf.Table, slot, size int) (start flatbuf.UOffsetT, n int) {
	off := flatbuf.UOffsetT(t.Offset(flatbuf.VOffsetT(4 + 2*slot)))
	if off == 0 {
		return 0, -1
	}
	start, n = t.Vector(off), t.VectorLen(off)
	if found, m := flatwire.Vector(t.Bytes, int(start)-4, size); found != int(start) || m != n {
		r.broken++
	}
	return start, min(n, max(r.budget, 0))
}

func (r *reader) vec(b []byte, pos flatbuf.UOffsetT) vec {
	s := flatbuf.Struct{Table: flatbuf.Table{Bytes: b, Pos: pos}}
	if int(pos)+24 > len(b) {
		r.broken++
	}
	return vec{s.GetFloat64(pos), s.GetFloat64(pos + 8), s.GetInt32(pos + 16)}
}

// text reads the string that the offset at pos leads to.
func (r *reader) text(t *flatbuf.Table, pos flatbuf.UOffsetT) string {
	b := t.ByteVector(pos)
	if b == nil || cap(b) != len(b) || t.String(pos) != string(b) {
		r.broken++
	}
	return string(b)
}

func (r *reader) any(t *flatbuf.Table, typ byte, pos flatbuf.UOffsetT) (a anyValue) {
	u := flatbuf.Table{Bytes: t.Bytes, Pos: t.Indirect(pos)}
	switch typ {
	case isMonster:
		a.monster = r.monster(&u)
	case isString:
		s := r.text(t, pos)
		a.text = &s
	case isVec:
		v := r.vec(t.Bytes, u.Pos)
		a.vec = &v
	}
	return a
}

func (r *reader) monster(t *flatbuf.Table) *monster {
	m := &monster{}
	if r.budget--; r.budget < 0 {
		return m
	}
	if _, size := flatwire.VTable(t.Bytes, int(t.Pos)); size == 0 && flatwire.I32(t.Bytes, int(t.Pos)) == 0 {
		r.broken++
	}
	slot := func(n int) flatbuf.VOffsetT { return flatbuf.VOffsetT(4 + 2*n) }
	at := func(n int) flatbuf.UOffsetT { return flatbuf.UOffsetT(t.Offset(slot(n))) }
	if off := at(slotPos); off != 0 {
		v := r.vec(t.Bytes, off+t.Pos)
		m.pos = &v
	}
	m.mana = t.GetInt16Slot(slot(slotMana), defaultMana)
	m.hp = t.GetInt64Slot(slot(slotHP), 0)
	m.flag = t.GetBoolSlot(slot(slotFlag), false)
	if off := at(slotName); off != 0 {
		m.name = r.text(t, off+t.Pos)
	} else {
		r.broken++
	}
	if start, n := r.vector(t, slotFriends, 4); n >= 0 {
		m.friends = []*monster{}
		for i := range n {
			f := flatbuf.Table{Bytes: t.Bytes, Pos: t.Indirect(start + flatbuf.UOffsetT(i)*4)}
			m.friends = append(m.friends, r.monster(&f))
		}
	}
	if off := at(slotInventory); off != 0 {
		if m.inventory = t.ByteVector(off + t.Pos); m.inventory == nil {
			r.broken++
		}
	}
	if start, n := r.vector(t, slotTags, 4); n >= 0 {
		m.tags = []string{}
		for i := range n {
			m.tags = append(m.tags, r.text(t, start+flatbuf.UOffsetT(i)*4))
		}
	}
	typ := t.GetByteSlot(slot(slotTestType), 0)
	if off := at(slotTest); off != 0 {
		var u flatbuf.Table
		if t.Union(&u, off); u.Pos != t.Indirect(off+t.Pos) {
			r.broken++
		}
		m.test = r.any(t, typ, off+t.Pos)
	}
	types, typesN := r.vector(t, slotAnyTypes, 1)
	if start, n := r.vector(t, slotAnys, 4); n >= 0 {
		m.anys = []anyValue{}
		if n != typesN {
			r.broken++
		}
		for i := range n {
			m.anys = append(m.anys, r.any(t, t.GetByte(types+flatbuf.UOffsetT(i)), start+flatbuf.UOffsetT(i)*4))
		}
	}
	if off := at(slotNested); off != 0 {
		b := t.ByteVector(off + t.Pos)
		if b == nil {
			r.broken++
		}
		m.nested = r.message(b)
	}
	if start, n := r.vector(t, slotPath, 24); n >= 0 {
		m.path = []vec{}
		for i := range n {
			m.path = append(m.path, r.vec(t.Bytes, start+flatbuf.UOffsetT(i)*24))
		}
	}
	if off := at(slotWide); off != 0 {
		start, n := t.Vector64(off, 2, true)
		if start == 0 {
			r.broken++
		}
		m.wide = []uint16{}
		for i := range n {
			m.wide = append(m.wide, t.GetUint16(start+flatbuf.UOffsetT(i)*2))
		}
	}
	if off := at(slotWideNested); off != 0 {
		b := t.ByteVector64(off+t.Pos, true)
		if b == nil {
			r.broken++
		}
		m.wideNested = r.message(b)
	}
	if off := at(slotEnemy); off != 0 {
		f := flatbuf.Table{Bytes: t.Bytes, Pos: t.Indirect(off + t.Pos)}
		m.enemy = r.monster(&f)
	}
	return m
}
