//! Intent and catalog to plan space, with every pruned alternative and its reason.
