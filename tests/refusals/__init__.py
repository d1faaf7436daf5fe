"""Every refusal of headroles in one table: what a user does wrong, and the key words of the sentence."""
