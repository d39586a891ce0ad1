# Rules of the house, asked before planning about every source (`read`), every model (`use`) and every pair (`send`).
# `deny` is a set: each element refuses, with the rule's name and its words as EXPLAIN shows them.
#
#   policy: {engine: opa, file: house.rego}
package ctxrt

# Who may read what.
deny contains {"rule": "payroll_is_for_hr", "message": "payroll may be read by role hr only"} if {
	input.source.name == "payroll"
	not "hr" in input.principal.roles
}

# Restricted data stays on this machine, whatever a tier says it accepts.
deny contains {"rule": "restricted_stays_here", "message": sprintf("%s is remote, the data is restricted", [input.model.name])} if {
	input.sensitivity == "restricted"
	not input.model.local
	input.model
}

# A call that may cost more than a dollar. An unknown cost is undefined and refuses nothing here.
deny contains {"rule": "dear_calls", "message": sprintf("one call of %s may cost $%.2f, more than $1.00", [input.model.name, input.estimate.cost_usd])} if {
	input.estimate.cost_usd > 1
}
