# SPDX-License-Identifier: Apache-2.0
# Reads "readelf --debug-dump=info" and prints functions and variables (from abi_function_* and abi_variable_*), structs, unions and
# enumerators; c-abi.sh describes the format.

# " <1><1e>: Abbrev Number: 1 (DW_TAG_typedef)"
/^ *<[0-9a-f]+><[0-9a-f]+>: Abbrev Number:/ {
	split($0, part, /[<>]/)
	level = part[2]
	id = part[4]
	tag[id] = ""
	if (match($0, /DW_TAG_[a-z_]+/)) tag[id] = substr($0, RSTART + 7, RLENGTH - 7)
	else { id = ""; next }
	at[level] = id
	parent = level > 0 ? at[level - 1] : ""
	owner[id] = parent
	children[parent] = children[parent] " " id
	order[++count] = id
	next
}
id != "" && /DW_AT_/ {
	match($0, /DW_AT_[a-z_]+/)
	name = substr($0, RSTART + 6, RLENGTH - 6)
	value = substr($0, RSTART + RLENGTH)
	sub(/^ *: */, "", value)
	if (name == "name") {
		sub(/^\(indirect [a-z ]*string, offset: [0-9a-fx]+\): /, "", value)
		sub(/[ \t]+$/, "", value)
	} else if (name == "type") {
		gsub(/[<>]|0x/, "", value)
	}
	sub(/[ \t].*$/, "", value)
	attribute[id, name] = value
}

function complain(text) {
	print text > "/dev/stderr"
	bad = 1
	return "unsupported"
}
# The type behind typedefs and qualifiers.
function plain(t) {
	while (tag[t] ~ /^(typedef|const_type|volatile_type|restrict_type|atomic_type)$/) t = attribute[t, "type"]
	return t
}
function code(t, where,    kind, size, n, i, kids, dims, result) {
	t = plain(t)
	if (t == "") return "void"
	kind = tag[t]
	size = attribute[t, "byte_size"]
	if (kind == "pointer_type") return "ptr"
	if (kind == "enumeration_type") return "i" size
	if (kind == "structure_type") return "struct(" size ")"
	if (kind == "union_type") return "union(" size ")"
	if (kind == "base_type") {
		if (attribute[t, "encoding"] == 2) return "bool"
		if (attribute[t, "encoding"] == 4 && size <= 8) return "f" size
		if (attribute[t, "encoding"] ~ /^[5678]$/ && size <= 8) return "i" size
	}
	if (kind == "array_type") {
		n = split(children[t], kids, " ")
		result = code(attribute[t, "type"], where)
		for (i = n; i >= 1; i--) {
			if (tag[kids[i]] != "subrange_type") continue
			if ((kids[i], "count") in attribute) dims = attribute[kids[i], "count"]
			else if ((kids[i], "upper_bound") in attribute) dims = attribute[kids[i], "upper_bound"] + 1
			else dims = 0
			result = "array(" dims "," result ")"
		}
		return result
	}
	return complain(where ": a type that jextract cannot express (" kind " " attribute[t, "name"] ")")
}
function fields(group, name, base,    n, i, kids, member, offset, type) {
	n = split(children[group], kids, " ")
	for (i = 1; i <= n; i++) {
		member = kids[i]
		if (tag[member] != "member") continue
		if ((member, "bit_size") in attribute) complain(name "." attribute[member, "name"] ": bit-field")
		offset = base + attribute[member, "data_member_location"]
		type = attribute[member, "type"]
		if (attribute[member, "name"] == "") fields(plain(type), name, offset)
		else print "field " name " " attribute[member, "name"] " " offset " " code(type, name "." attribute[member, "name"])
	}
}
function group(g, name) {
	if (name in seen || (g, "declaration") in attribute) return
	seen[name]
	print (tag[g] == "union_type" ? "union " : "struct ") name " " attribute[g, "byte_size"]
	fields(g, name, 0)
}
function prototype(t, name,    n, i, kids, line) {
	line = "function " name " " code(attribute[t, "type"], name)
	n = split(children[t], kids, " ")
	for (i = 1; i <= n; i++) {
		if (tag[kids[i]] == "formal_parameter") line = line " " code(attribute[kids[i], "type"], name)
		else if (tag[kids[i]] == "unspecified_parameters") complain(name ": variadic")
	}
	print line
}

END {
	for (k = 1; k <= count; k++) {
		e = order[k]
		n = attribute[e, "name"]
		if (tag[e] == "variable" && n ~ /^abi_function_/) {
			prototype(attribute[attribute[e, "type"], "type"], substr(n, 14))
		} else if (tag[e] == "variable" && n ~ /^abi_variable_/) {
			n = substr(n, 14)
			print "variable " n " " code(attribute[attribute[e, "type"], "type"], n)
		} else if (tag[e] ~ /^(structure|union)_type$/ && n ~ /^pl_/) {
			group(e, n)
		} else if (tag[e] == "typedef" && n ~ /^pl_/) {
			g = attribute[e, "type"]
			if (tag[g] ~ /^(structure|union)_type$/ && attribute[g, "name"] == "") group(g, n)
		} else if (tag[e] == "enumerator" && n ~ /^PL_/) {
			v = attribute[e, "const_value"] + 0
			if (v < -2147483648 || v > 4294967295) complain(n ": an enumerator beyond 32 bits")
			if (v < 0) v += 4294967296
			# mawk's %x stops at 31 bits: two halves.
			printf "constant %s i4 0x%04x%04x\n", n, int(v / 65536), v % 65536
		}
	}
	exit bad
}
