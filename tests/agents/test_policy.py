from budget_envs.agents import policy as at_agents
from budget_envs.evaluation import policy as at_evaluation


def test_the_protocol_is_the_one_that_evaluators_call():
    for name in at_agents.__all__:
        assert getattr(at_agents, name) is getattr(at_evaluation, name)
