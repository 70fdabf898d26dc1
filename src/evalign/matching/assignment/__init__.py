"""Linear sum assignment (LiSAScore): no token may be matched twice, exactly or in the paper's cheaper forms.

exact             maximises the sum of the selected cells (scipy)
row-mask          the token with most to lose chooses first
recursive-argmax  rivals subtracted, then one-sided argmax       may break the rules
recursive-topk    rivals subtracted, then the k largest cells    may break the rules
auction-topk      recursive-argmax with factor 1                 may break the rules
auction           Bertsekas, within k * eps of exact
"""
