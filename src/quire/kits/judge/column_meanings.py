"""What each column of the report's tables is, in a sentence, by table."""

from collections.abc import Mapping

_ORDINAL = "near misses count less than far ones"
_NOMINAL = "any two that differ count alike"

MEANINGS: Mapping[str, Mapping[str, str]] = {
    "figures": {
        "Scores": "Verdicts that could be read, abstentions among them, without swaps; missing are"
        " those that could not be read or were not given, which count in no figure.",
        "Abstained": "Abstentions, of all scores.",
        "One stage": "Verdicts that name one stage alone, of those that answer.",
        "Stages named": "How many stages an answering verdict names, on average.",
        "Expected stage": "Mean stage of the verdicts that answer, from 1, the weakest; of one that"
        " names several, their mean.",
        "Mid-scale": "Share that falls on the middle stage, or on the middle two of an even scale.",
        "Entropy, bits": "Spread over the stages: 0 if all name the same one, the logarithm to base"
        " 2 of the scale's size if all stages are named alike.",
        "Critic agrees": "Mean of what critics say of each verdict: how likely experts would"
        " agree.",
        "Right stage named": "Verdicts that name the right stage, alone or among others, of those"
        " that answer where the truth is known. Guesses that name k of n stages hold it k times in"
        " n.",
        "Stages off": "How many stages lie between the verdict and the truth, on average.",
    },
    "within": {
        "Stages, ordinal": f"Alpha of the stages that were chosen; {_ORDINAL}.",
        "Stages, nominal": f"The same; {_NOMINAL}.",
        "Lines, ordinal": f"Alpha of the lines on which these stood; {_ORDINAL}.",
        "Lines, nominal": f"The same; {_NOMINAL}.",
        "Lines less stages, ordinal": "Above 0, the model repeats places rather than stages.",
    },
    "between": {
        "Alpha apart, ordinal": f"Of verdicts in different samples; {_ORDINAL}.",
        "Alpha apart, nominal": f"The same; {_NOMINAL}.",
        "Alpha in a sample, ordinal": f"Of verdicts on the same display; {_ORDINAL}.",
        "Alpha in a sample, nominal": f"The same; {_NOMINAL}.",
        "Cohen's kappa in a sample": "Share of equal verdicts above that of chance, chance by how"
        " often each of the two names each stage.",
        "Divergence": "Between the shares of stages: 0 if they are the same, 1 if the models have"
        " no stage in common.",
        "Stages apart": "How much higher the first judges, in stages.",
    },
    "bias": {
        "Tested": "What should not matter, since chance decided it.",
        "p": "How often chance alone favours some as much as was seen.",
        "Adjusted": "The same among all tests of this table, by Holm.",
        "χ²": "Squared differences of chosen and displayed, each over displayed: 0 if all are"
        " chosen as often as displayed.",
        "Favoured most": "The line or identifier that was chosen most beyond its due.",
        "Chosen": "Share of the answering verdicts that chose it.",
        "Displayed": "The share that it has of all that was displayed: its due.",
    },
    "accuracy": {
        "Accuracy": "Exactly the right stage, of the verdicts that answer.",
        "Chance": "What a guesser gets who names as many stages at a time as the model: a guess at"
        " one of n stages is right once in n, a guess at several never.",
        "Commonest truth": "What always naming the commonest truth would get.",
        "Above chance": "Accuracy less chance, of the most that it can be above it.",
        "Kappa": "Cohen's, of verdicts and truths.",
        "Answered": "Verdicts that do not abstain, of those with a known truth.",
        "Right of all": "Right verdicts, of all with a known truth: an abstention is not right.",
        "Critic tells": "How often a right verdict has a surer critic than a wrong one; 50 % is"
        " chance.",
    },
    "curve": {
        "Kept": "Share of the decoded verdicts with a known truth that is kept: the surest.",
        "Critic says at least": "What the critic of each verdict that is kept says, at least.",
        "Accuracy": "Exactly the right stage, of those kept; no interval where they are of a single"
        " sample, or none of the samples moves it.",
        "Chance": "What guesses of as many stages at a time get.",
    },
    "bins": {
        "Against": "What critics are held against.",
        "Bin": "Of what critics say: from, and to less than.",
        "Said": "Mean of what they say in this bin.",
        "Found": "How often that came true; no interval where the verdicts are of a single sample,"
        " or none of the samples moves it.",
    },
    "swaps": {
        "Rubric of": "Who wrote the rubric that the model judged on.",
        "Higher by": "How many stages higher it judges there than on its own.",
    },
    "calibration": {
        "Against": "What critics are held against.",
        "Said": "Mean of what critics say: how likely experts would agree.",
        "Found": "How often that came true.",
        "Excess": "Said less found.",
        "Brier": "Mean square of said less found, verdict by verdict: 0 is always sure and right,"
        " 0.25 what saying 50 % of what is true or not always gets.",
        "Correlation": "Pearson's, of said and found, verdict by verdict.",
    },
    "rubrics": {
        "Observability": "Mean of the critic's first score, from 0 to 1: can what the criteria ask"
        " for be seen in evidence?",
        "Discriminability": "Mean of its second score: can the stages be told apart?",
    },
    "drift": {
        "Expected stage": "By how many stages the line through the samples' means rises.",
        "Abstentions": "By how many points the line through the samples' shares of abstentions"
        " rises.",
    },
    "refusals": {
        "Stage": "What was asked for: a rubric, a score, or a critic's word on one.",
        "Refused": "Answers that could not be read, of all that came.",
        "Answers refused": "How many these are.",
        "Tasks given up": "What was still not readable after the last try: missing above.",
        "Tasks": "Rubrics, scores or critics' words that were owed.",
    },
}
